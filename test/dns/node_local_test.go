//go:build lab

package dns

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// cache is the address of the nodes' DNS caches.
const cache = "169.254.20.10"

// TestNodeLocal gives the nodes of a cluster in use DNS caches, kills and stops one, and takes the
// caches away, while pods resolve names.
func TestNodeLocal(t *testing.T) {
	s := harness.New(t, "dns", plan.Spec{Masters: 1, Minions: 2})
	s.Must("install")
	c := newClients(s, "n1", "n2")
	nodes := []string{"m1", "n1", "n2"}
	set := func(on bool) {
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster", "dns")["node_local"] = map[string]any{"enabled": on}
		})
	}

	set(true)
	c.while("the nodes get DNS caches", 0, func() { s.Must("install") })
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")
	remove := c.hold("n1")
	if got := s.Kubectl("m1", "-n kube-system exec hold-n1 -- "+lookupsDir+"/lookups servers"); got != cache+" 10.96.0.10" {
		t.Errorf("a new pod has the name servers %s", got)
	}
	s.RequireTexts(c.resolve("n1", kubernetesName), "10.96.0.1")
	s.RequireTexts(c.resolve("n1", outsideName), s.Address("m1"))

	// The kernel refuses packets to a cache that has ended, but only about one a second, and a cache that is stopped
	// does not answer, until its liveness probe has failed three times. Resolvers ask cluster DNS after 5 s.
	killed := c.while("a cache is killed", 0, func() {
		for range 3 {
			s.Shell("n1", nodeCache+" | xargs -r kill -KILL")
			time.Sleep(5 * time.Second)
		}
		c.requireCache("n1")
	})
	t.Logf("a cache that is killed: %d of %d lookups took longer than a second, the longest %d ms", killed.Slow, killed.Lookups, killed.LongestMS)
	stopped := c.while("a cache hangs", 0, func() {
		s.Shell("n1", nodeCache+" | xargs -r kill -STOP")
		time.Sleep(30 * time.Second)
		c.requireCache("n1")
	})
	t.Logf("a cache that hangs: %d of %d lookups took longer than a second, the longest %d ms", stopped.Slow, stopped.Lookups, stopped.LongestMS)
	c.while("cluster DNS is away for 10 s", 0, func() {
		s.Kubectl("m1", "-n kube-system scale deployment coredns --replicas=0")
		time.Sleep(10 * time.Second)
		s.Kubectl("m1", "-n kube-system scale deployment coredns --replicas=2")
		s.Kubectl("m1", "-n kube-system rollout status deployment/coredns --timeout=60s")
	})

	set(false)
	c.while("the caches are removed while pods use them", 0, func() { s.Deployer("install") })
	s.RequireTexts(s.Deployer("verify").All(), "the DNS cache of this host stays", "hold-n1")
	c.requireCache("n1") // hold-n1 uses it
	s.RequireTexts(c.resolve("n1", kubernetesName), "10.96.0.1")
	remove()
	c.while("the caches are removed", 0, func() { s.Must("install") })
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")
	for _, node := range nodes {
		left := s.Shell(node, fmt.Sprintf(`ip -o addr show | grep -F %s; ls /etc/kubernetes/manifests/node-dns.yaml /etc/kubernetes/node-dns/Corefile /etc/systemd/system/deployer-node-dns.service 2>/dev/null; grep -F %s /var/lib/kubelet/config.yaml; ss -lntu | grep -F %s; true`, cache, cache, cache))
		if left != "" {
			t.Errorf("%s has left of the cache:\n%s", node, left)
		}
	}
}

var errNotReady = errors.New("the cache is not ready")

// nodeCache is a command that prints the process of the cache on a host: the CoreDNS in the host's network.
const nodeCache = `for p in $(pgrep -x coredns); do [ "$(readlink /proc/$p/ns/net)" = "$(readlink /proc/1/ns/net)" ] && echo $p; done`

// requireCache waits until the cache of a host answers.
func (c *clients) requireCache(node string) {
	c.T.Helper()
	c.Eventually(60*time.Second, "the DNS cache of "+node+" is ready", func() error {
		out, err := c.SSH(c.T.Context(), node, "curl -fsS http://"+cache+":9255/ready")
		if err != nil || !strings.Contains(out, "OK") {
			return fmt.Errorf("%s: %w", out, errors.Join(err, errNotReady))
		}
		return nil
	})
}
