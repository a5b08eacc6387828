package cluster

import (
	"math"
	"path"
	"regexp"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// fingerprint matches the fingerprint of a key that authenticates backups.
var fingerprint = regexp.MustCompile(`^[0-9a-f]{32}$`)

// MaxEtcdQuota is the largest quota of etcd in bytes. etcd warns above it at its start
// (etcd.io/docs/v3.6/dev-guide/limit; server/storage/quota.go).
const MaxEtcdQuota = 8 << 30

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
		if err := checkRecipient(r); err != nil {
			c.add("bad-recipient", "cluster.etcd.backup.recipients", "%q is no public key of age or SSH (%v): use age1..., ssh-ed25519 ... or ssh-rsa ...", r, err)
		}
	}
	if s := c.spec.Etcd.Backup; s.Scheduled() {
		if err := checkCalendar(s.Schedule); err != nil {
			c.add("bad-schedule", "cluster.etcd.backup.schedule", "%q is no time of systemd.time(7), %v: use daily, or *-*-* 00/6:00:00, or never", s.Schedule, err)
		}
	}
	if f := c.spec.Etcd.Backup.Fingerprint; f != "" && !fingerprint.MatchString(f) {
		c.add("bad-fingerprint", "cluster.etcd.backup.fingerprint", "%q is no fingerprint of a key: use the 32 characters that deployer etcd backup prints", f)
	}
	c.checkObjectStore()
	// 0 cannot occur: it means the default.
	for _, n := range []struct {
		key    string
		value  int64
		lowest int64
	}{
		{"cluster.dns.replicas", int64(c.spec.DNS.Replicas), 0},
		{"cluster.dns.cache_size", int64(c.spec.DNS.CacheSize), 0},
		{"cluster.dns.max_concurrent", int64(c.spec.DNS.MaxConcurrent), 0},
		{"cluster.dns.memory_request_mib", int64(c.spec.DNS.MemoryRequest), 0},
		{"cluster.dns.memory_limit_mib", int64(c.spec.DNS.MemoryLimit), 0},
		{"cluster.dns.node_local.memory_limit_mib", int64(c.spec.DNS.NodeLocal.MemoryLimit), 0},
		{"cluster.dns.cpu_request_millicores", int64(c.spec.DNS.CPURequest), 0},
		{"cluster.dns.cpu_limit_millicores", int64(c.spec.DNS.CPULimit), 0},
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
		if n.key == "cluster.etcd.quota_backend_bytes" && n.value > MaxEtcdQuota {
			c.add("bad-number", n.key, "%d is too large: etcd works with at most %d, which is 8 GiB", n.value, MaxEtcdQuota)
		}
		if n.value < n.lowest {
			c.add("bad-number", n.key, "%d is too small: use at least 1", n.value)
		}
	}
}

// checkRecipient parses a public key as the encryption of backups does.
func checkRecipient(text string) error {
	if strings.HasPrefix(text, "ssh-") {
		_, err := agessh.ParseRecipient(text)
		return err
	}
	_, err := age.ParseX25519Recipient(text)
	return err
}

// maxPodsOf returns the maximum number of pods on a host's kubelet, with its overrides.
func (c *checker) maxPodsOf(h Host) int {
	over := section(mergeLayers(c.spec.Overrides, h.Overrides), componentKubelet)
	return maxPodsIn(over, c.spec.Kubelet.MaxPods)
}

// MaxPods returns the maximum number of pods of a node's kubelet; 0 when it has none.
func (n Node) MaxPods() int { return maxPodsIn(n.KubeletConfig, 0) }

// maxPodsIn returns maxPods of a kubelet's configuration, which comes from YAML or JSON.
func maxPodsIn(config map[string]any, unset int) int {
	switch n := config["maxPods"].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		return int(min(n, math.MaxInt32)) //nolint:gosec // bounded here
	case float64:
		return int(n)
	default:
		return unset
	}
}
