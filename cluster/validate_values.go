package cluster

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
)

var (
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	imageTags = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
)

// checkVersions: Kubernetes from the table, the rest within what that minor
// works with. Kubernetes' own components always have one version here, so its
// skew policy (kubernetes.io/releases/version-skew-policy) can only be broken
// over time, by an upgrade, which has a rule of its own.
func (c *checker) checkVersions() {
	v := c.spec.Kubernetes
	parsed, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v"))
	switch {
	case err != nil || !strings.HasPrefix(v, "v"):
		c.add("bad-version", "cluster.kubernetes", "%q is not a version such as %s", v, DefaultKubernetes)
	case !knownMinor(v) && !c.spec.AllowUntested:
		c.add("unknown-version", "cluster.kubernetes", "%s is not among the supported versions: %s", v, strings.Join(SupportedKubernetes(), ", "))
	case parsed.Prerelease() != "" && !c.spec.AllowUntested:
		c.add("unknown-version", "cluster.kubernetes", "%s is a pre-release: set allow_untested_versions: true to try it", v)
	}
	for _, p := range []struct{ key, value string }{
		{"etcd", c.spec.Versions.Etcd}, {"containerd", c.spec.Versions.Containerd},
		{"cni", c.spec.Versions.CNI}, {"coredns", c.spec.Versions.CoreDNS},
	} {
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(p.value, "v")); err != nil || !strings.HasPrefix(p.value, "v") {
			c.add("bad-version", "cluster.versions."+p.key, "%q is not a version such as v1.2.3", p.value)
		}
	}
	// No rule compares these versions; the builds of distributions have their own form, such
	// as 1.1.5-1.deb12u1.
	for _, p := range []struct{ key, value string }{
		{"runc", c.spec.Versions.Runc}, {"pause", c.spec.Versions.Pause}, {"nginx", c.spec.Versions.Nginx}, {"haproxy", c.spec.Versions.HAProxy},
	} {
		if !imageTags.MatchString(p.value) {
			c.add("bad-version", "cluster.versions."+p.key, "%q is not a version or tag such as 1.28.0", p.value)
		}
	}
	c.checkCompanions(releaseOf(v))
}

// checkCompanions refuses versions that the Kubernetes version does not support.
func (c *checker) checkCompanions(r release) {
	if c.spec.AllowUntested {
		return
	}
	for _, p := range []struct{ key, value, min string }{
		{"etcd", c.spec.Versions.Etcd, r.MinEtcd},
		{"containerd", c.spec.Versions.Containerd, r.MinContainerd},
	} {
		if _, err := semver.NewVersion(p.value); err == nil && !atLeast(p.value, p.min) {
			c.add("version-skew", "cluster.versions."+p.key, "%s is too old for Kubernetes %s: use v%s or newer", p.value, c.spec.Kubernetes, p.min)
		}
	}
}

func (c *checker) checkNames() {
	if !dnsLabel.MatchString(c.spec.Name) {
		c.add("bad-name", "cluster.name", "%q is not a name: use small letters, digits and dashes, at most 63", c.spec.Name)
	}
	if !isDomain(c.spec.DNS.Domain) {
		c.add("bad-domain", "cluster.dns.domain", "%q is not a domain such as cluster.local", c.spec.DNS.Domain)
	}
	for _, u := range c.spec.DNS.Upstreams {
		if _, err := netip.ParseAddr(u); err != nil {
			if _, err := netip.ParseAddrPort(u); err != nil {
				c.add("bad-upstream", "cluster.dns.upstreams", "%q is not the address of a DNS server, such as 10.0.0.2 or 10.0.0.2:53", u)
			}
		}
	}
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
	c.oneOf("unknown-mode", "cluster.kube_proxy.mode", c.spec.KubeProxy.Mode, "iptables", "nftables")
	c.oneOf("unknown-plugin", "cluster.network.plugin", c.spec.Network.Plugin, PluginBGP)
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
}
