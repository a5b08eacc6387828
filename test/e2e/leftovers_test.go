//go:build lab

package e2e

import (
	"strings"
	"testing"

	"deployer/test/harness"
)

// pinnedImages checks that the images of static pods and cluster DNS are pinned on a node,
// so that the kubelet does not remove unused ones.
func pinnedImages(t *testing.T, s *site, host string, want ...string) {
	pinned := s.PinnedImages(host)
	for _, name := range want {
		if !strings.Contains(pinned, "/"+name+":") {
			t.Errorf("%s: image %s is not pinned; these are:\n%s", host, name, pinned)
		}
	}
}

// leftovers removes the mirrors of registries and their authority from the inventory,
// and selects the other API proxy. Files that deployer wrote for them are removed,
// files of others stay, and the plan shows both in advance.
func leftovers(t *testing.T, s *site) {
	s.Shell("n1", `mkdir /etc/containerd/certs.d/mine.example && echo 'server = "https://mine.example"' > /etc/containerd/certs.d/mine.example/hosts.toml`)
	s.Edit(func(inv map[string]any) {
		delete(harness.Section(inv, "cluster", "containerd"), "mirrors")
		delete(harness.Section(inv, "cluster", "containerd"), "authorities")
		harness.Section(inv, "cluster", "proxy")["kind"] = "haproxy"
	})
	if out := s.Deployer("install", "--check").All(); !strings.Contains(out, "n1        differs  leftovers: remove resources that the inventory no longer has") {
		t.Errorf("the check does not say that something goes:\n%s", out)
	}
	s.Must("install")
	if got := s.Shell("n1", "find /etc/containerd/certs.d /etc/containerd/ca /etc/kubernetes/proxy /etc/kubernetes/manifests -type f | sort"); got != strings.Join([]string{
		"/etc/containerd/certs.d/mine.example/hosts.toml",
		"/etc/kubernetes/manifests/api-proxy.yaml",
		"/etc/kubernetes/manifests/kube-proxy.yaml",
		"/etc/kubernetes/proxy/haproxy.conf",
	}, "\n") {
		t.Errorf("n1 has\n%s", got)
	}
	if got := s.Shell("p1", "ls /etc/deployer; pidof haproxy >/dev/null && ! pidof nginx >/dev/null && echo haproxy alone"); got != "haproxy.conf\nhaproxy alone" {
		t.Errorf("p1 has\n%s", got)
	}
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("the next install: %d changed, want 0", r.Changed())
	}
}

// becomesProxy turns a minion into a proxy for clients outside of the cluster. Then
// neither the host, the cluster nor the neighbours treat it as a node.
func becomesProxy(t *testing.T, s *site, host, neighbour string) {
	s.Edit(func(inv map[string]any) {
		roles := harness.Section(inv, "roles")
		roles["minion"] = removeElement(roles["minion"].([]any), host)
		proxies, _ := roles["proxy"].([]any)
		roles["proxy"] = append(proxies, host)
	})
	s.Must("install")
	if got := s.Kubectl("m1", "get nodes -o name"); strings.Contains(got, "node/"+host+"\n") || strings.HasSuffix(got, "node/"+host) {
		t.Errorf("%s is still a node:\n%s", host, got)
	}
	if got := s.Shell(host, "pidof kubelet containerd bird kube-proxy; ls /etc/kubernetes/manifests /etc/deployer; systemctl is-active deployer-proxy"); got != "/etc/deployer:\nnginx.conf\n\n/etc/kubernetes/manifests:\nactive" {
		t.Errorf("%s has\n%s", host, got)
	}
	if got := s.Shell(neighbour, "birdc -s /run/bird/bird.ctl show protocols"); strings.Contains(got, "to_"+host+" ") {
		t.Errorf("%s has a session with %s:\n%s", neighbour, host, got)
	}
	s.Must("verify")
	if _, r := s.Events(s.Must("install", "--output", "json")); r.Changed() != 0 {
		t.Errorf("the next install: %d changed, want 0", r.Changed())
	}
}

func removeElement(list []any, gone string) []any {
	var out []any
	for _, e := range list {
		if e != gone {
			out = append(out, e)
		}
	}
	return out
}
