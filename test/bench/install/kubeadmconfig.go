package main

import (
	"bytes"
	"fmt"
	"maps"

	"gopkg.in/yaml.v3"

	"deployer/test/lab/plan"
)

// The networks and the port of the cluster: deployer's defaults, so that both
// clusters are alike.
const (
	podSubnet     = "10.244.0.0/16"
	serviceSubnet = "10.96.0.0/16"
	apiPort       = 6443
)

// secrets let hosts join: kubeadm's bootstrap token, and the key with which it
// encrypts the authorities' keys that it stores in the cluster for further masters.
type secrets struct{ token, certificateKey string }

// ignoredChecks returns the preflight checks that cannot pass in a lab.
//   - SystemVerification refuses cgroup v1, which a lab's machine may mount, and
//     needs the configuration of the kernel, which a machine need not publish.
//   - Swap: the machine's swap is visible in every host; the lab's kubelets accept it.
func ignoredChecks() []string { return []string{"SystemVerification", "Swap"} }

// initConfig returns the configuration of `kubeadm init`, in the types of
// kubeadm.k8s.io/v1beta4.
func initConfig(first plan.Host, m *material, o overrides, s secrets) ([]byte, error) {
	const api = "kubeadm.k8s.io/v1beta4"
	image := func(artifact string) map[string]any { return map[string]any{"imageTag": m.versions[artifact]} }
	documents := []map[string]any{
		{
			"apiVersion": api, "kind": "InitConfiguration",
			"bootstrapTokens":  []any{map[string]any{"token": s.token, "ttl": "1h0m0s"}},
			"certificateKey":   s.certificateKey,
			"localAPIEndpoint": map[string]any{"advertiseAddress": first.Address.String(), "bindPort": apiPort},
			"nodeRegistration": map[string]any{"ignorePreflightErrors": ignoredChecks()},
		},
		{
			"apiVersion": api, "kind": "ClusterConfiguration",
			"kubernetesVersion":    plan.Kubernetes,
			"controlPlaneEndpoint": endpoint(first),
			"networking":           map[string]any{"podSubnet": podSubnet, "serviceSubnet": serviceSubnet},
			"dns":                  image("coredns"),
			"etcd":                 map[string]any{"local": image("etcd")},
		},
		component("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", o.Kubelet),
		component("kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration", o.KubeProxy),
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for _, d := range documents {
		if err := encoder.Encode(d); err != nil {
			return nil, fmt.Errorf("rendering kubeadm's configuration: %w", err)
		}
	}
	return out.Bytes(), encoder.Close()
}

func component(api, kind string, settings map[string]any) map[string]any {
	document := map[string]any{"apiVersion": api, "kind": kind}
	maps.Copy(document, settings)
	return document
}

// endpoint returns the address at which all hosts reach the API, that of the first
// master: kubeadm requires one address and has no load balancer.
func endpoint(first plan.Host) string { return fmt.Sprintf("%s:%d", first.Address, apiPort) }
