package cluster

import "slices"

// The kinds of requirement.
const (
	RequirePort    = "port"    // free, or held by one of Owners
	RequireDisk    = "disk"    // MinMiB and MinPercent free on the file system of Path
	RequireMemory  = "memory"  // MinMiB of RAM
	RequireCPU     = "cpu"     // MinCount cores
	RequireSwap    = "swap"    // off
	RequireKernel  = "kernel"  // feature Name usable
	RequireCgroup  = "cgroup"  // some cgroup hierarchy that containers can use
	RequireForeign = "foreign" // Path absent, or put there by deployer
)

// Requirement is a property that a host must have before it is changed. Fields without a
// meaning for the kind are empty.
type Requirement struct {
	Kind       string   `json:"kind"`        // kind: port, disk, memory, cpu, swap, kernel, cgroup or foreign
	Name       string   `json:"name"`        // name of the requirement in reports; for kind kernel, the feature
	Port       int      `json:"port"`        // port number, for kind port
	Protocol   string   `json:"protocol"`    // protocol of the port, for kind port: tcp or udp
	Path       string   `json:"path"`        // path, for the kinds disk and foreign; for kind port, see former
	MinMiB     int      `json:"min_mib"`     // minimum in MiB, for the kinds disk and memory
	MinPercent float64  `json:"min_percent"` // minimum free share of the file system in percent, for kind disk
	MinCount   int      `json:"min_count"`   // minimum number of cores, for kind cpu
	Owners     []string `json:"owners"`      // programs that may already listen on the port, for kind port
	Former     []string `json:"former"`      // programs that may listen on the port where the file at path exists, for kind port
	Why        string   `json:"why"`         // reason of the requirement, for people
}

// Requirements lists the properties that a host must have for its roles, in a fixed
// order.
func Requirements(c *Cluster, n Node) []Requirement {
	var out []Requirement
	out = append(out, portRequirements(c, n)...)
	out = append(out, sizeRequirements(c, n)...)
	if n.IsNode {
		out = append(out, kernelRequirements(c)...)
		out = append(out, foreign("/etc/kubernetes/manifests", "another Kubernetes is installed here"),
			foreign("/var/lib/kubelet", "another kubelet has run here"))
	}
	if n.IsEtcd {
		out = append(out, foreign(c.Etcd.DataDir+"/member", "the data of another etcd lies here"))
	}
	for i := range out {
		out[i].Owners, out[i].Former = orEmpty(out[i].Owners), orEmpty(out[i].Former)
	}
	return out
}

// portRequirements: kubernetes.io/docs/reference/networking/ports-and-protocols.
func portRequirements(c *Cluster, n Node) []Requirement {
	var out []Requirement
	tcp := func(port int, name, why string, owners ...string) {
		if !slices.ContainsFunc(out, func(r Requirement) bool { return r.Port == port }) {
			out = append(out, Requirement{Kind: RequirePort, Name: name, Port: port, Protocol: "tcp", Why: why, Owners: owners})
		}
	}
	proxies := []string{ProxyNginx, ProxyHAProxy} // the other one holds it when the kind changes
	if n.RunsAPIServer {
		tcp(c.API.Port, "kube-apiserver", "the API server listens there", "kube-apiserver")
		// A minion that becomes a master has had its API proxy there.
		out[0].Path, out[0].Former = dirManifests+"/api-proxy.yaml", proxies
		tcp(10257, "kube-controller-manager", "the controller manager listens there", "kube-controller-manager")
		tcp(10259, "kube-scheduler", "the scheduler listens there", "kube-scheduler")
	}
	if n.RunsLocalProxy {
		tcp(c.API.Port, "api-proxy", "the node's way to the API listens there", proxies...)
	}
	if n.RunsExternalProxy {
		tcp(c.Proxy.Port, "api-proxy", "clients outside reach the API there", proxies...)
	}
	if n.IsEtcd {
		tcp(portEtcdClient, "etcd clients", "etcd listens there", "etcd")
		tcp(portEtcdPeer, "etcd peers", "etcd listens there", "etcd")
		if port, ok := urlPort(c.Etcd.MetricsURL); ok {
			tcp(port, "etcd metrics", "etcd listens there", "etcd")
		}
	}
	if n.IsNode {
		tcp(10250, "kubelet", "the kubelet listens there", "kubelet")
		tcp(10248, "kubelet health", "the kubelet listens there", "kubelet")
		tcp(10249, "kube-proxy metrics", "kube-proxy listens there", "kube-proxy")
		tcp(10256, "kube-proxy health", "kube-proxy listens there", "kube-proxy")
		if c.Network.Plugin == PluginBGP {
			tcp(179, "bgp", "BIRD listens there", "bird")
		}
	}
	return out
}

// sizeRequirements: kubeadm asks a master for 2 cores and 1700 MB
// (cmd/kubeadm/app/constants: ControlPlaneNumCPU, ControlPlaneMem); a minion's
// kubelet, runtime and proxies stay below 512 MiB. Disk: 2 GiB hold the binaries
// and images with room to unpack them; etcd may fill its quota once in the
// database and once more while it is compacted, but starts near empty, so only
// the default quota is required. The audit log reaches its bound in any cluster that
// is in use. A kubelet that sees less than its eviction thresholds free takes no pods.
func sizeRequirements(c *Cluster, n Node) []Requirement {
	var out []Requirement
	disk := func(path string, mib int, percent float64, why string) {
		out = append(out, Requirement{Kind: RequireDisk, Name: path, Path: path, MinMiB: mib, MinPercent: percent, Why: why})
	}
	memory, cpu := 256, 1
	if n.IsEtcd {
		memory = 512
		disk(c.Etcd.DataDir, 2048, 0, "etcd keeps the cluster's state there")
	}
	if n.IsNode {
		memory = 768
		disk("/var/lib/containerd", 2048, evictionShare(n, "imagefs.available", 15), "images are unpacked there, and below its threshold for eviction the kubelet takes no pods")
		disk("/var/lib/kubelet", 512, evictionShare(n, "nodefs.available", 10), "volumes of pods lie there, and below its threshold for eviction the kubelet takes no pods")
	}
	if n.IsMaster {
		memory, cpu = 1700, 2
	}
	if n.RunsAPIServer && c.Audit.Enabled {
		disk(c.Audit.LogDir, c.Audit.MaxMiB, 0, "the audit log grows to that size there; cluster.api.audit.max_backups and max_size_mib bound it")
	}
	disk("/usr/local/bin", 512, 0, "programs are installed there")
	return append(out,
		Requirement{Kind: RequireMemory, Name: "memory", MinMiB: memory, Why: "the components of this host need it"},
		Requirement{Kind: RequireCPU, Name: "cpu", MinCount: cpu, Why: "the components of this host need it"},
	)
}

// kernelRequirements: overlay for containerd's snapshots, conntrack for Services,
// and the packet filters that are written to.
func kernelRequirements(c *Cluster) []Requirement {
	feature := func(name, why string) Requirement {
		return Requirement{Kind: RequireKernel, Name: name, Why: why}
	}
	out := []Requirement{
		feature("overlay", "containers' file systems are layered with it"),
		feature("nf_conntrack", "Services need connection tracking"),
		{Kind: RequireCgroup, Name: "cgroup", Why: "pods' resources are limited with it"},
	}
	if c.KubeProxy.Mode == "iptables" {
		out = append(out, feature("iptables", "kube-proxy writes its rules there"))
	}
	// kube-proxy in its other mode, and the rule that gives pods' traffic out of
	// the cluster the node's address.
	out = append(out, feature("nftables", "traffic of pods is translated there"))
	if c.Network.Plugin == PluginBGP && c.Network.Authentication != AuthenticationNone {
		out = append(out, feature("tcp_md5", "BGP sessions have a password; cluster.network.authentication: none does without"))
	}
	if !c.Kubelet.SwapAllowed {
		out = append(out, Requirement{Kind: RequireSwap, Name: "swap", Why: "the kubelet refuses to run with swap on unless failSwapOn is false"})
	}
	return out
}

func foreign(path, why string) Requirement {
	return Requirement{Kind: RequireForeign, Name: path, Path: path, Why: why}
}
