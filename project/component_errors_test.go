package project_test

import (
	"errors"
	"strings"
	"testing"

	"deployer/project"
)

// TestComponentConfigurationErrors checks that a setting that a component would refuse
// is an error with its position in the inventory.
func TestComponentConfigurationErrors(t *testing.T) {
	const hosts = `
hosts: {m1: {address: 10.0.0.1}, n1: {address: 10.0.0.2}}
roles: {master: m1, minion: n1}
`
	for name, c := range map[string]struct{ inventory, want string }{
		"in the cluster": {"cluster:\n  overrides:\n    kubelet:\n      evictionHard:\n        memory.available: bogus" + hosts,
			`inventory.yaml:5:9: cluster.overrides.kubelet.evictionHard.memory.available: "bogus" is neither a quantity such as 100Mi nor a percentage such as 5%, so the kubelet would not start`},
		"in a host": {"hosts:\n  m1: {address: 10.0.0.1}\n  n1:\n    address: 10.0.0.2\n    overrides: {kubelet: {cgroupDriver: none}}\nroles: {master: m1, minion: n1}\n",
			`inventory.yaml:5:27: n1: overrides.kubelet.cgroupDriver: "none" is unknown: use systemd, cgroupfs`},
		"in a group": {"groups:\n  rack:\n    hosts: [n1]\n    overrides:\n      kube_proxy: {moode: nftables}" + hosts,
			`inventory.yaml:5:20: n1: overrides.kube_proxy.moode: there is no such setting; did you mean "mode"?`},
		"owned by deployer": {"cluster:\n  overrides:\n    etcd: {extra_args: {data-dir: /srv/etcd}}" + hosts,
			`inventory.yaml:3:25: cluster.overrides.etcd.extra_args.data-dir: deployer sets this to "/var/lib/etcd"`},
		"owned, in a host": {"hosts:\n  m1: {address: 10.0.0.1}\n  n1:\n    address: 10.0.0.2\n    overrides: {kubelet: {clusterDomain: x.y}}\nroles: {master: m1, minion: n1}\n",
			`inventory.yaml:5:27: n1: overrides.kubelet.clusterDomain: deployer sets this to "cluster.local"`},
		"owned, removed": {"cluster:\n  overrides:\n    kubelet: {authentication: {x509: null}}" + hosts,
			`inventory.yaml:3:32: cluster.overrides.kubelet.authentication.x509.clientCAFile: deployer sets this to "/etc/kubernetes/pki/ca.crt"`},
		"a label": {"hosts:\n  m1: {address: 10.0.0.1}\n  n1:\n    address: 10.0.0.2\n    labels: {kubernetes.io/hostname: other}\nroles: {master: m1, minion: n1}\n",
			`inventory.yaml:5:14: n1: labels.kubernetes.io/hostname: the kubelet sets this label to n1`},
		"a long name": {"hosts:\n  m1: {address: 10.0.0.1}\n  kube-frodo-worker-01a346cae00e2fcda.inf.eu-north-1.tarn.internal.example: {address: 10.0.0.2}\nroles: {master: m1, minion: kube-frodo-worker-01a346cae00e2fcda.inf.eu-north-1.tarn.internal.example}\n",
			`inventory.yaml:3:3: kube-frodo-worker-01a346cae00e2fcda.inf.eu-north-1.tarn.internal.example: name: the name of a node is also the value of its label`},
		"in a list": {"cluster:\n  api:\n    audit:\n      enabled: true\n      policy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}" + hosts,
			`inventory.yaml:5:59: cluster.api.audit.policy.rules.[0].level: "All" is unknown`},
	} {
		inDir(t, map[string]string{"inventory.yaml": c.inventory})
		_, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
		userError := (*project.UserError)(nil)
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}
