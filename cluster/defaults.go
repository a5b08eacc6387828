package cluster

import (
	"cmp"
	"time"

	"deployer/limit"
)

// DefaultKubernetes is the version that is installed by default.
const DefaultKubernetes = "v1.36.3"

// defaultPodCIDR has a range of /24 for each of 256 nodes.
const defaultPodCIDR = "10.244.0.0/16"

// WithDefaults returns the spec with every default that does not depend on the hosts.
// [Resolve] decides the others (size, the proxy's port, whether masters take pods).
func (s Spec) WithDefaults() Spec {
	s.Name = cmp.Or(s.Name, "kubernetes")
	s.Kubernetes = cmp.Or(s.Kubernetes, DefaultKubernetes)
	s.Versions = s.Versions.or(releaseOf(s.Kubernetes).Versions)
	// kubeadm's usual ranges, so that addresses look familiar: 10.96.0.0 for
	// Services (its default), 10.244.0.0 for pods (what most of its guides use).
	s.PodCIDR = cmp.Or(s.PodCIDR, defaultPodCIDR)
	s.ServiceCIDR = cmp.Or(s.ServiceCIDR, "10.96.0.0/16")
	// 24: 253 addresses for 110 pods, so that an address rests before it is used again.
	s.NodePrefix = cmp.Or(s.NodePrefix, 24)
	// One subnet, as Kubernetes' own default (kube-controller-manager, --node-cidr-mask-size-ipv6).
	s.NodePrefixIPv6 = cmp.Or(s.NodePrefixIPv6, 64)
	s.Size = cmp.Or(s.Size, SizeAuto)
	// 110 pods is the kubelet's default and what Kubernetes is tested with:
	// kubernetes.io/docs/setup/best-practices/cluster-large.
	s.Kubelet.MaxPods = cmp.Or(s.Kubelet.MaxPods, 110)
	s.KubeProxy.Mode = cmp.Or(s.KubeProxy.Mode, "iptables")
	s.Rollout.MaxParallel = cmp.Or(s.Rollout.MaxParallel, new(limit.DefaultParallel()))
	s.Maintenance = s.Maintenance.withDefaults()
	s.Addons = withAddonDefaults(s.Addons)
	s.Encryption.AtRest = orTrue(s.Encryption.AtRest)
	s.Certificates = s.Certificates.withDefaults()
	s.DNS = s.DNS.withDefaults()
	s.API = s.API.withDefaults()
	s.Etcd = s.Etcd.withDefaults()
	s.LeaderElect = s.LeaderElect.withDefaults()
	s.Proxy = s.Proxy.withDefaults()
	s.Keeper = s.Keeper.WithDefaults()
	s.Network = s.Network.withDefaults()
	return s
}

func (a APISpec) withDefaults() APISpec {
	a.Port = cmp.Or(a.Port, 6443)
	a.PodSecurity = a.PodSecurity.withDefaults()
	// 51 is keepalived's own default. 8402 has no registration at IANA and no listener in the tables of
	// kubernetes.io/docs/reference/networking/ports-and-protocols.
	a.VirtualIP.RouterID = cmp.Or(a.VirtualIP.RouterID, 51)
	a.VirtualIP.WitnessPort = cmp.Or(a.VirtualIP.WitnessPort, 8402)
	a.Audit.Enabled = orTrue(a.Audit.Enabled)
	a.Audit.LogDir = cmp.Or(a.Audit.LogDir, "/var/log/kubernetes/audit")
	// 30 days, 10 files, 100 MiB: the figures of the CIS Kubernetes benchmark
	// (1.2.17 to 1.2.19); a master needs 1.1 GiB for them.
	a.Audit.MaxAgeDays = cmp.Or(a.Audit.MaxAgeDays, 30)
	a.Audit.MaxBackups = cmp.Or(a.Audit.MaxBackups, 10)
	a.Audit.MaxSizeMiB = cmp.Or(a.Audit.MaxSizeMiB, 100)
	return a
}

// withDefaults: baseline refuses the known ways from a pod to its node and lets
// ordinary applications run; restricted is what new ones should meet
// (kubernetes.io/docs/concepts/security/pod-security-standards).
func (p PodSecuritySpec) withDefaults() PodSecuritySpec {
	p.Enforce = cmp.Or(p.Enforce, "baseline")
	p.Audit = cmp.Or(p.Audit, "restricted")
	p.Warn = cmp.Or(p.Warn, "restricted")
	return p
}

func (e EtcdSpec) withDefaults() EtcdSpec {
	e.DataDir = cmp.Or(e.DataDir, "/var/lib/etcd")
	// OpenShift's cluster-etcd-operator has these values for slow disks (its hardware speed
	// "Slower"): a member that waits for its disk must not lose the leadership.
	if e.SlowDisk {
		e.HeartbeatInterval = cmp.Or(e.HeartbeatInterval, 500*time.Millisecond)
		e.ElectionTimeout = cmp.Or(e.ElectionTimeout, 2500*time.Millisecond)
	}
	// etcd.io/docs/v3.6/tuning: the defaults suit one data centre; heartbeat
	// about one round trip, election at least ten round trips.
	e.HeartbeatInterval = cmp.Or(e.HeartbeatInterval, 100*time.Millisecond)
	e.ElectionTimeout = cmp.Or(e.ElectionTimeout, time.Second)
	// etcd 3.6's default, down from 100000: less memory for the same safety.
	e.SnapshotCount = cmp.Or(e.SnapshotCount, 10000)
	e.AutoCompactionMode = cmp.Or(e.AutoCompactionMode, "periodic")
	// The API server compacts every 5 minutes (--etcd-compaction-interval); a
	// second compactor would only race it.
	e.AutoCompactionRetention = cmp.Or(e.AutoCompactionRetention, "0")
	// 2381 is kubeadm's port for metrics and health without a certificate; on
	// loopback nobody else reaches it.
	e.MetricsURL = cmp.Or(e.MetricsURL, "http://127.0.0.1:2381")
	e.Guard = orTrue(e.Guard)
	// 15 snapshots or 10 GB: the limits of OpenShift's cluster-etcd-operator.
	e.Backup.Schedule = cmp.Or(e.Backup.Schedule, "daily")
	e.Backup.Keep = cmp.Or(e.Backup.Keep, 15)
	e.Backup.MaxSizeMiB = cmp.Or(e.Backup.MaxSizeMiB, 10240)
	e.Backup.S3 = e.Backup.S3.withDefaults()
	e.Events = e.Events.withDefaults()
	e.Backup.Recipients = append([]string{}, e.Backup.Recipients...) // a list in variables, not null
	return e
}

func (l LeaderSpec) withDefaults() LeaderSpec {
	// client-go's recommended values (component-base/config LeaderElection).
	l.LeaseDuration = cmp.Or(l.LeaseDuration, 15*time.Second)
	l.RenewDeadline = cmp.Or(l.RenewDeadline, 10*time.Second)
	l.RetryPeriod = cmp.Or(l.RetryPeriod, 2*time.Second)
	return l
}

func (p ProxySpec) withDefaults() ProxySpec {
	p.Kind = cmp.Or(p.Kind, ProxyHAProxy)
	// A master that does not answer within a second is left; watches are idle
	// for minutes and must outlive nginx' own ten minutes at the least.
	p.ConnectTimeout = cmp.Or(p.ConnectTimeout, time.Second)
	p.Timeout = cmp.Or(p.Timeout, 10*time.Minute)
	// One refused connection is enough to leave a master, and ten seconds
	// bound how long a master that came back stays unused
	// (nginx.org/en/docs/stream/ngx_stream_upstream_module.html: defaults).
	p.MaxFails = cmp.Or(p.MaxFails, 1)
	p.FailTimeout = cmp.Or(p.FailTimeout, 10*time.Second)
	p.TLS.Port = cmp.Or(p.TLS.Port, 443)
	return p
}

func (n NetworkSpec) withDefaults() NetworkSpec {
	n.Plugin = cmp.Or(n.Plugin, PluginBGP)
	n.CNI = cmp.Or(n.CNI, "bridge")
	n.Authentication = cmp.Or(n.Authentication, AuthenticationAuto)
	n.ASN = cmp.Or(n.ASN, 64512)
	// Calico's documentation recommends a full mesh up to about 100 nodes and
	// reflectors above (docs.tigera.io, Configure BGP peering). At 50 it is 1225
	// sessions, and adding a node still rewrites only 49 others' peer lists.
	// A list of Calico's peers is one object for all nodes.
	if n.Plugin == PluginCalico {
		n.MeshBelow = cmp.Or(n.MeshBelow, 100)
	}
	n.MeshBelow = cmp.Or(n.MeshBelow, 50)
	n.NodesPerReflector = cmp.Or(n.NodesPerReflector, 200)
	n.BGP = n.BGP.withDefaults()
	n.Calico = n.Calico.withDefaults()
	return n
}

// or returns v with its empty fields filled from d.
func (v Versions) or(d Versions) Versions {
	return Versions{
		Etcd:       cmp.Or(v.Etcd, d.Etcd),
		Containerd: cmp.Or(v.Containerd, d.Containerd),
		Runc:       cmp.Or(v.Runc, d.Runc),
		CNI:        cmp.Or(v.CNI, d.CNI),
		CoreDNS:    cmp.Or(v.CoreDNS, d.CoreDNS),
		Pause:      cmp.Or(v.Pause, d.Pause),
		Nginx:      cmp.Or(v.Nginx, d.Nginx),
		HAProxy:    cmp.Or(v.HAProxy, d.HAProxy),
		Calico:     cmp.Or(v.Calico, d.Calico),
	}
}

func orTrue(b *bool) *bool {
	if b != nil {
		return b
	}
	t := true
	return &t
}
