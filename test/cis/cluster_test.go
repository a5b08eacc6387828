package cis

import (
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/tasks/control/keyring"
)

// TestDefaultsOfClusters: flags and configuration files of a cluster with default
// settings, as deployer renders them, meet the list. The scenarios of test/e2e check
// files and the API on installed clusters.
func TestDefaultsOfClusters(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.11", Roles: []string{"master"}},
		{Name: "n1", Address: "10.0.0.21", Roles: []string{"minion"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for name, groups := range map[string][]string{"m1": {Masters, Etcd, Nodes}, "n1": {Nodes}} {
		n := c.Nodes[name]
		h := Host{
			Args: map[string][]string{
				"kube-apiserver": n.Args.APIServer, "kube-controller-manager": n.Args.ControllerManager, "kube-scheduler": n.Args.Scheduler,
				"etcd": n.Args.Etcd, "kubelet": n.Args.Kubelet,
			},
			Contents: map[string]string{keyring.EncryptionConf: string(keys.Files()[keyring.EncryptionConf])},
		}
		configs := map[string]any{"/var/lib/kubelet/config.yaml": n.KubeletConfig, "/etc/kubernetes/kube-proxy.yaml": n.KubeProxyConfig}
		for _, f := range n.APIServerFiles {
			configs[f.Dest] = f.Value
		}
		for file, value := range configs {
			text, err := yaml.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			h.Contents[file] = string(text)
		}
		for _, group := range groups {
			for _, check := range Testable(sections(t), group) {
				if check.Test.Flag == "" && check.Test.Key == "" {
					continue
				}
				looked++
				if err := check.Evaluate(h); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if looked < 60 {
		t.Errorf("%d checks were looked at, want at least 60", looked)
	}
}
