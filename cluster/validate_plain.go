package cluster

import (
	"math"
	"path"
	"slices"
	"strings"
)

// checkPlainValues checks paths, addresses and numbers that do not depend on other
// values.
func (c *checker) checkPlainValues() {
	for _, p := range []struct{ key, value string }{
		{"cluster.etcd.data_dir", c.spec.Etcd.DataDir},
		{"cluster.api.audit.log_dir", c.spec.API.Audit.LogDir},
	} {
		if !path.IsAbs(p.value) || path.Clean(p.value) != p.value || p.value == "/" {
			c.add("bad-path", p.key, "%q is not the absolute path of a directory of its own", p.value)
		}
	}
	for _, r := range c.spec.Etcd.Backup.Recipients {
		if !slices.ContainsFunc([]string{"age1", "ssh-ed25519 ", "ssh-rsa "}, func(kind string) bool { return strings.HasPrefix(r, kind) }) {
			c.add("bad-recipient", "cluster.etcd.backup.recipients", "%q is no public key of age or SSH: use age1..., ssh-ed25519 ... or ssh-rsa ...", r)
		}
	}
	c.checkObjectStore()
	// 0 cannot occur: it means the default.
	for _, n := range []struct {
		key    string
		value  int64
		lowest int64
	}{
		{"cluster.dns.replicas", int64(c.spec.DNS.Replicas), 0},
		{"cluster.dns.cache_size", int64(c.spec.DNS.CacheSize), 1},
		{"cluster.dns.max_concurrent", int64(c.spec.DNS.MaxConcurrent), 0},
		{"cluster.dns.memory_limit_mib", int64(c.spec.DNS.MemoryLimit), 0},
		{"cluster.etcd.snapshot_count", int64(c.spec.Etcd.SnapshotCount), 1},
		{"cluster.etcd.quota_backend_bytes", c.spec.Etcd.QuotaBackendBytes, 0},
		{"cluster.etcd.backup.keep", int64(c.spec.Etcd.Backup.Keep), 1},
		{"cluster.etcd.backup.max_size_mib", int64(c.spec.Etcd.Backup.MaxSizeMiB), 1},
		{"cluster.proxy.max_fails", int64(c.spec.Proxy.MaxFails), 1},
		{"cluster.proxy.worker_connections", int64(c.spec.Proxy.WorkerConnections), 0},
		{"cluster.api.audit.max_age_days", int64(c.spec.API.Audit.MaxAgeDays), 1},
		{"cluster.api.audit.max_backups", int64(c.spec.API.Audit.MaxBackups), 1},
		{"cluster.api.audit.max_size_mib", int64(c.spec.API.Audit.MaxSizeMiB), 1},
	} {
		if n.value < n.lowest {
			c.add("bad-number", n.key, "%d is too small: use at least 1", n.value)
		}
	}
}

// maxPodsOf returns the maximum number of pods on a host's kubelet, with its overrides.
func (c *checker) maxPodsOf(h Host) int {
	over := section(mergeLayers(c.spec.Overrides, h.Overrides), componentKubelet)
	switch n := over["maxPods"].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		return int(min(n, math.MaxInt32)) //nolint:gosec // bounded here
	case float64:
		return int(n)
	default:
		return c.spec.Kubelet.MaxPods
	}
}
