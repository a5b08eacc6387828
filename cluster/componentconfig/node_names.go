package componentconfig

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubeletapis "k8s.io/kubelet/pkg/apis"

	"deployer/cluster"
)

// The keys of an InvalidValue that is no setting of the cluster: of a host's name, its labels and
// its taints.
const (
	KeyName   = "name"
	KeyLabels = "labels"
	KeyTaints = "taints"
)

// nodes checks names, labels and taints of the nodes by the rules of the API server and of the
// kubelet.
func (k *checker) nodes() {
	for _, name := range k.cluster.Order {
		n := k.cluster.Nodes[name]
		if !n.IsNode {
			continue
		}
		k.host, k.at = name, nil
		k.nodeName(name)
		k.labels(n)
		k.taints(n)
		k.kubeletLabels(n)
	}
}

// nodeName checks a name that the kubelet registers, also as the value of a label.
func (k *checker) nodeName(name string) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		k.add([]string{KeyName}, "%s is not the name of a node: %s", name, strings.Join(validation.IsDNS1123Subdomain(name), "; "))
	} else if len(validation.IsValidLabelValue(name)) > 0 {
		k.add([]string{KeyName}, "the name of a node is also the value of its label kubernetes.io/hostname, which has at most %d characters; %s has %d: shorten it", validation.LabelValueMaxLength, name, len(name))
	}
}

// labels checks the labels of a node, and refuses those that its kubelet sets by itself.
func (k *checker) labels(n cluster.Node) {
	for _, key := range sorted(n.Labels) {
		value, path := n.Labels[key], []string{KeyLabels, key}
		if bad := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(bad) > 0 {
			k.add(path, "%s=%s is not a label of Kubernetes: %s", key, value, strings.Join(bad, "; "))
			continue
		}
		own := map[string]string{"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
		if want, has := own[key]; has && value != want {
			k.add(path, "the kubelet sets this label to %s: leave it out", want)
		}
		if strings.HasSuffix(key, "kubernetes.io/arch") {
			k.add(path, "the kubelet sets this label: leave it out")
		}
	}
}

// taints checks the taints of a node: the kubelet does not register with two of one key and effect
// (kubernetes pkg/apis/core/validation, validateNodeTaints).
func (k *checker) taints(n cluster.Node) {
	seen := map[string]bool{}
	for _, t := range n.Taints {
		text := t.Key + "=" + t.Value + ":" + t.Effect
		if bad := slices.Concat(validation.IsQualifiedName(t.Key), validation.IsValidLabelValue(t.Value)); len(bad) > 0 {
			k.add([]string{KeyTaints}, "%s is not a taint of Kubernetes: %s", text, strings.Join(bad, "; "))
		}
		id := t.Key + ":" + t.Effect
		if seen[id] {
			k.add([]string{KeyTaints}, "two taints have the key %s and the effect %s: a node has one of them", t.Key, t.Effect)
		}
		seen[id] = true
	}
}

// kubeletLabels checks the flag node-labels: a kubelet may set few labels of Kubernetes' own
// names, and does not start with others (kubernetes cmd/kubelet/app/options, ValidateKubeletFlags).
func (k *checker) kubeletLabels(n cluster.Node) {
	for _, arg := range n.Args.Kubelet {
		list, ok := strings.CutPrefix(arg, "--node-labels=")
		if !ok {
			continue
		}
		path := []string{"overrides", "kubelet", "extra_args", "node-labels"}
		for pair := range strings.SplitSeq(list, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if bad := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(bad) > 0 {
				k.add(path, "%q is not a label of Kubernetes: %s", pair, strings.Join(bad, "; "))
				continue
			}
			namespace, _, _ := strings.Cut(key, "/")
			reserved := slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(d string) bool {
				return namespace != key && (namespace == d || strings.HasSuffix(namespace, "."+d))
			})
			if reserved && !kubeletapis.IsKubeletLabel(key) {
				k.add(path, "a kubelet must not set the label %s and would not start: write it into labels of the host or a group, which deployer sets by the API", key)
			}
		}
	}
}
