package cluster

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func (c *checker) checkNames() {
	if !dnsLabel.MatchString(c.spec.Name) {
		c.add("bad-name", "cluster.name", "%q is not a name: use small letters, digits and dashes, at most 63", c.spec.Name)
	}
	c.checkDNS()
	for _, san := range c.spec.API.SANs {
		if _, err := netip.ParseAddr(san); err != nil && !isDomain(strings.TrimPrefix(san, "*.")) {
			c.add("bad-san", "cluster.api.sans", "%q is neither an address nor a name", san)
		}
	}
	c.oneOf("unknown-proxy", "cluster.proxy.kind", c.spec.Proxy.Kind, ProxyNginx, ProxyHAProxy)
	levels := []string{"privileged", "baseline", "restricted"}
	c.oneOf("unknown-level", "cluster.api.pod_security.enforce", c.spec.API.PodSecurity.Enforce, levels...)
	c.oneOf("unknown-level", "cluster.api.pod_security.audit", c.spec.API.PodSecurity.Audit, levels...)
	c.oneOf("unknown-level", "cluster.api.pod_security.warn", c.spec.API.PodSecurity.Warn, levels...)
	c.oneOf("unknown-size", "cluster.size", c.spec.Size, SizeAuto, SizeSmall, SizeMedium, SizeLarge, SizeXLarge)
	c.oneOf("unknown-mode", "cluster.kube_proxy.mode", c.spec.KubeProxy.Mode, "iptables", "nftables", KubeProxyNone)
	if c.spec.KubeProxy.Mode == KubeProxyNone && c.spec.Network.Plugin != PluginNone {
		c.add("no-services", "cluster.kube_proxy.mode", "without kube-proxy the pod network must forward the traffic of Services, which the plugin %s does not: set network.plugin: %s, too", c.spec.Network.Plugin, PluginNone)
	}
	c.oneOf("unknown-plugin", "cluster.network.plugin", c.spec.Network.Plugin, PluginBGP, PluginCalico, PluginNone)
	c.oneOf("unknown-cni", "cluster.network.cni", c.spec.Network.CNI, "bridge", "ptp")
	c.oneOf("unknown-compaction", "cluster.etcd.auto_compaction_mode", c.spec.Etcd.AutoCompactionMode, "periodic", "revision")
}

func (c *checker) oneOf(code, key, value string, known ...string) {
	if !slices.Contains(known, value) {
		c.add(code, key, "%q is unknown: use %s", value, strings.Join(known, ", "))
	}
}

func isDomain(s string) bool {
	if len(s) > 253 {
		return false
	}
	return !slices.ContainsFunc(strings.Split(s, "."), func(l string) bool { return !dnsLabel.MatchString(l) })
}

// checkTimes checks the relations between times that the components require, most of
// them only after their start.
func (c *checker) checkTimes() {
	l := c.spec.LeaderElect
	if l.LeaseDuration <= l.RenewDeadline {
		c.add("bad-lease", "cluster.leader_election", "lease_duration %s must be longer than renew_deadline %s", l.LeaseDuration, l.RenewDeadline)
	}
	// client-go/tools/leaderelection: RenewDeadline > RetryPeriod * JitterFactor (1.2).
	if l.RenewDeadline <= l.RetryPeriod*12/10 {
		c.add("bad-lease", "cluster.leader_election", "renew_deadline %s must be longer than 1.2 times retry_period %s", l.RenewDeadline, l.RetryPeriod)
	}
	e := c.spec.Etcd
	// etcd refuses less than five heartbeats and more than 50 s
	// (server/embed/config.go: Validate; etcd.io/docs/v3.6/tuning).
	if e.ElectionTimeout < 5*e.HeartbeatInterval {
		c.add("bad-election", "cluster.etcd.election_timeout", "%s is less than five heartbeats of %s: raise it to %s", e.ElectionTimeout, e.HeartbeatInterval, 5*e.HeartbeatInterval)
	}
	if e.ElectionTimeout > 50*time.Second {
		c.add("bad-election", "cluster.etcd.election_timeout", "%s is more than etcd accepts: use 50s at most", e.ElectionTimeout)
	}
	positive := []struct {
		key string
		d   time.Duration
	}{
		{"cluster.etcd.heartbeat_interval", e.HeartbeatInterval},
		{"cluster.leader_election.retry_period", l.RetryPeriod},
		{"cluster.proxy.connect_timeout", c.spec.Proxy.ConnectTimeout},
		{"cluster.proxy.timeout", c.spec.Proxy.Timeout},
		{"cluster.proxy.fail_timeout", c.spec.Proxy.FailTimeout},
		{"cluster.dns.cache_ttl", c.spec.DNS.CacheTTL},
	}
	for _, p := range positive {
		if p.d < time.Millisecond {
			c.add("bad-time", p.key, "%s is too short: use at least 1ms", p.d)
		}
	}
	// A dead master is found after an interval, the fast one of 500ms and two times connect_timeout.
	if d := c.spec.Proxy.CheckInterval; d != 0 && (d < 500*time.Millisecond || d > 5*time.Second) {
		c.add("bad-time", "cluster.proxy.check_interval", "%s is not between 500ms and 5s", d)
	}
}
