package componentconfig

import (
	"strings"
	"testing"

	"deployer/cluster"
)

// TestNodes checks names, labels and taints of nodes by the path and the text of what is found.
func TestNodes(t *testing.T) {
	long := "kube-frodo-worker-01a346cae00e2fcda.inf.eu-north-1.tarn.internal.example"
	for name, c := range map[string]struct {
		host   cluster.Host
		master []string // taints of the master
		want   string
	}{
		"good":                   {host: cluster.Host{Name: "n1.rack-2", Labels: map[string]string{"disk": "ssd", "node-role.kubernetes.io/worker": "", "kubernetes.io/hostname": "n1.rack-2"}, Taints: []string{"app=a:NoSchedule", "app=a:NoExecute"}}},
		"a name of 72":           {host: cluster.Host{Name: long}, want: "name the name of a node is also the value of its label kubernetes.io/hostname, which has at most 63 characters; " + long + " has 72"},
		"the kubelet's name":     {host: cluster.Host{Labels: map[string]string{"kubernetes.io/hostname": "other"}}, want: "labels kubernetes.io/hostname the kubelet sets this label to n1: leave it out"},
		"the kubelet's system":   {host: cluster.Host{Labels: map[string]string{"kubernetes.io/os": "plan9"}}, want: "labels kubernetes.io/os the kubelet sets this label to linux"},
		"the kubelet's platform": {host: cluster.Host{Labels: map[string]string{"beta.kubernetes.io/arch": "amd64"}}, want: "labels beta.kubernetes.io/arch the kubelet sets this label"},
		"a long prefix":          {host: cluster.Host{Labels: map[string]string{strings.Repeat("a", 254) + "/x": "y"}}, want: "is not a label of Kubernetes"},
		"a bad value":            {host: cluster.Host{Labels: map[string]string{"disk": "a b"}}, want: "labels disk disk=a b is not a label of Kubernetes"},
		"a bad taint":            {host: cluster.Host{Taints: []string{"a//b=c:NoSchedule"}}, want: "taints a//b=c:NoSchedule is not a taint of Kubernetes"},
		"two taints":             {host: cluster.Host{Taints: []string{"app=a:NoSchedule", "app=b:NoSchedule"}}, want: "taints two taints have the key app and the effect NoSchedule"},
		"the master's own taint": {master: []string{"node-role.kubernetes.io/control-plane=x:NoSchedule"}},
	} {
		if c.host.Name == "" {
			c.host.Name = "n1"
		}
		c.host.Address, c.host.Roles = "10.0.0.2", []string{"minion"}
		resolved, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}, Taints: c.master}, c.host})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var lines []string
		for _, v := range Check(resolved) {
			lines = append(lines, strings.Join(v.Path, " ")+" "+v.Message)
		}
		text := strings.Join(lines, "\n")
		if len(lines) > 1 || c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
