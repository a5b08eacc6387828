package componentconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deployer/strictyaml"
)

// featureGates returns the names of the feature gates of a version of Kubernetes; nil when
// there is no table for it. The table has the gates of all components, because each component
// accepts more than its own; flags/generate writes it from the sources.
func featureGates(version string) []string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil
	}
	raw, err := flagTables.ReadFile(fmt.Sprintf("flags/feature-gates-%s.%s.txt", parts[0], parts[1]))
	if err != nil {
		return nil
	}
	return strings.Fields(string(raw))
}

// gates reports feature gates that no component of the version has: kubelet, kube-proxy and
// the programs of the control plane exit at their start with such a name, also when the gate
// was removed because the feature cannot be disabled any more.
func (k *checker) gates() {
	for _, p := range programs(k.cluster) {
		table := featureGates(p.version)
		if table == nil || p.key == "etcd" {
			continue
		}
		for _, host := range p.hosts {
			k.host = host
			n := k.cluster.Nodes[host]
			for _, arg := range argsOf(n, p.key) {
				value, ok := strings.CutPrefix(arg, "--feature-gates=")
				if !ok {
					continue
				}
				k.at = []string{"overrides", p.key, "extra_args", "feature-gates"}
				for pair := range strings.SplitSeq(value, ",") {
					name, value, _ := strings.Cut(pair, "=")
					k.gate(table, nil, strings.TrimSpace(name), p)
					k.gateValue(strings.TrimSpace(name), strings.TrimSpace(value))
				}
			}
			file := map[string]map[string]any{"kubelet": n.KubeletConfig, "kube_proxy": n.KubeProxyConfig}[p.key]
			inFile, _ := file["featureGates"].(map[string]any)
			for _, name := range sorted(inFile) {
				k.at = []string{"overrides", p.key, "featureGates"}
				k.gate(table, []string{name}, name, p)
			}
		}
	}
}

// gate checks one name, which may have the component in front: kube:NodeSwap.
func (k *checker) gate(table, path []string, name string, p program) {
	if _, own, ok := strings.Cut(name, ":"); ok {
		name = own
	}
	if name == "" || slices.Contains(table, name) {
		return
	}
	k.add(path, "Kubernetes %s has no feature gate %q%s", p.version, name, strictyaml.DidYouMean(name, table))
}

// gateValue checks the value of a gate in a flag. Components parse it with
// strconv.ParseBool: kubernetes component-base/featuregate/feature_gate.go.
func (k *checker) gateValue(name, value string) {
	if _, err := strconv.ParseBool(value); name != "" && err != nil {
		k.add(nil, "the value of feature gate %s, %q, is not true or false", name, value)
	}
}
