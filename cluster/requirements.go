package cluster

import "slices"

// The kinds of requirement.
const (
	RequireAddress  = "address"      // Address on one of the host's interfaces
	RequireOnLink   = "on_link"      // no router between the host and Addresses
	RequirePort     = "port"         // free, or held by one of Owners
	RequireDisk     = "disk"         // MinMiB and MinPercent free on the file system of Path
	RequireMemory   = "memory"       // MinMiB of RAM
	RequireCPU      = "cpu"          // MinCount cores
	RequireSwap     = "swap"         // off
	RequireKernel   = "kernel"       // feature Name usable
	RequireCgroup   = "cgroup"       // some cgroup hierarchy that containers can use
	RequireForeign  = "foreign"      // Path absent, or put there by deployer
	RequireManifest = "manifest"     // no other file defines the pod of the manifest at Path
	RequireServers  = "name_servers" // a name server of the host that pods can reach
	RequireResolv   = "resolv_conf"  // a file with name servers for the kubelet: Path, or one that deployer chooses
)

// Requirement is a property that a host must have before it is changed. Fields without a
// meaning for the kind are empty.
type Requirement struct {
	Kind       string   `json:"kind"`        // kind: address, on_link, port, disk, memory, cpu, swap, kernel, cgroup, foreign, manifest, name_servers or resolv_conf
	Name       string   `json:"name"`        // name of the requirement in reports; for kind kernel, the feature
	Address    string   `json:"address"`     // IP address, for kind address
	Addresses  []string `json:"addresses"`   // IP addresses, for kind on_link
	Port       int      `json:"port"`        // port number, for kind port
	Protocol   string   `json:"protocol"`    // protocol of the port, for kind port: tcp or udp
	Path       string   `json:"path"`        // path, for the kinds disk, foreign, manifest and resolv_conf; for kind port, see former
	MinMiB     int      `json:"min_mib"`     // minimum in MiB, for the kinds disk and memory
	MinPercent float64  `json:"min_percent"` // minimum free share of the file system in percent, for kind disk
	MinCount   int      `json:"min_count"`   // minimum number of cores, for kind cpu
	MinVersion int      `json:"min_version"` // oldest version of cgroups, for kind cgroup: 1 or 2
	Owners     []string `json:"owners"`      // programs that may already listen on the port, for kind port
	Former     []string `json:"former"`      // programs that may listen on the port where the file at path exists, for kind port
	Why        string   `json:"why"`         // reason of the requirement, for people
}

// Requirements lists the properties that a host must have for its roles, in a fixed
// order.
func Requirements(c *Cluster, n Node) []Requirement {
	out := []Requirement{{Kind: RequireAddress, Name: n.IP, Address: n.IP, Why: "the host's components listen there and the other hosts reach it there"}}
	for _, ip := range n.IPs[min(1, len(n.IPs)):] {
		out = append(out, Requirement{Kind: RequireAddress, Name: ip, Address: ip, Why: "the node has this address in the second family of the pods"})
	}
	out = append(out, neighbourRequirements(c, n)...)
	out = append(out, portRequirements(c, n)...)
	out = append(out, sizeRequirements(c, n)...)
	if n.IsNode {
		out = append(out, kernelRequirements(c, n)...)
		out = append(out, foreign("/etc/kubernetes/manifests", "another Kubernetes is installed here"),
			foreign("/var/lib/kubelet", "another kubelet has run here"))
		out = append(out, serverRequirements(c, n)...)
	}
	if n.RunsFirewall && !n.IsNode {
		out = append(out, Requirement{Kind: RequireKernel, Name: "nftables", Why: "the ports of etcd are filtered with it; cluster.network.host_firewall.enabled: false does without"})
	}
	for _, file := range manifestsOf(n) {
		out = append(out, Requirement{Kind: RequireManifest, Name: file, Path: dirManifests + "/" + file})
	}
	if n.IsEtcd {
		out = append(out, foreign(c.Etcd.DataDir+"/member", "the data of another etcd lies here"))
	}
	if n.EtcdEvents != nil {
		out = append(out, foreign(c.EtcdEvents.DataDir+"/member", "the data of another etcd lies here"))
	}
	if n.EtcdCalico != nil {
		out = append(out, foreign(c.EtcdCalico.DataDir+"/member", "the data of another etcd lies here"))
	}
	for i := range out {
		out[i].Owners, out[i].Former, out[i].Addresses = orEmpty(out[i].Owners), orEmpty(out[i].Former), orEmpty(out[i].Addresses)
	}
	return out
}

// neighbourRequirements: the kernel sends packets for pods of another node to that node, so no router
// may be between them; nor between a node and a router that is one hop away.
func neighbourRequirements(c *Cluster, n Node) []Requirement {
	if !n.IsNode || c.Network.Plugin != PluginBGP {
		return nil
	}
	var addresses []string
	for _, p := range n.BGP.Peers {
		for _, ip := range []string{p.IPv4, p.IPv6} {
			if ip != "" {
				addresses = append(addresses, ip)
			}
		}
	}
	for _, r := range n.BGP.Routers {
		if r.Hops <= 1 {
			addresses = append(addresses, r.IP)
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	return []Requirement{{Kind: RequireOnLink, Name: RequireOnLink, Addresses: addresses}}
}

// serverRequirements: the kubelet needs a file with name servers, and cluster DNS a server in it
// unless it has others. An empty resolvConf is a kubelet without a file.
func serverRequirements(c *Cluster, n Node) []Requirement {
	path, own := n.KubeletConfig["resolvConf"].(string)
	switch {
	case own && path == "":
		return nil
	case own || len(c.DNS.Upstreams) > 0:
		return []Requirement{{Kind: RequireResolv, Name: RequireResolv, Path: path}}
	}
	return []Requirement{{Kind: RequireServers, Name: RequireServers}}
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
		tcp(portControllerManager, "kube-controller-manager", "the controller manager listens there", "kube-controller-manager")
		tcp(portScheduler, "kube-scheduler", "the scheduler listens there", "kube-scheduler")
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
	if n.EtcdEvents != nil {
		for _, p := range memberPorts("etcd for events", "", portEventsClient, portEventsPeer, c.EtcdEvents.MetricsURL) {
			tcp(p.number, p.name, "etcd for events listens there", "etcd")
		}
	}
	if n.EtcdCalico != nil {
		for _, p := range memberPorts("etcd for Calico", "", portCalicoClient, portCalicoPeer, c.EtcdCalico.MetricsURL) {
			tcp(p.number, p.name, "etcd for Calico listens there", "etcd")
		}
	}
	if n.IsNode {
		tcp(portKubelet, "kubelet", "the kubelet listens there", "kubelet")
		tcp(portKubeletHealth, "kubelet health", "the kubelet listens there", "kubelet")
		if c.Network.Plugin == PluginBGP || c.Network.Calico.Backend == BackendBIRD {
			owners := []string{"bird"}
			if slices.Contains(c.Families, FamilyIPv6) {
				owners = append(owners, "bird6") // of Calico: a process of its own, which listens at IPv6 addresses
			}
			tcp(179, "bgp", "BIRD listens there", owners...)
		}
		if n.RunsCalico {
			tcp(portFelixHealth, "Felix health", "Felix listens there", "calico-node")
		}
		if n.RunsTypha {
			tcp(portTypha, "Typha", "Typha listens there", "calico-typha")
			tcp(portTyphaHealth, "Typha health", "Typha listens there", "calico-typha")
		}
	}
	if n.RunsNodeDNS {
		// systemd-resolved listens at 127.0.0.53 only.
		tcp(portNodeDNS, "DNS cache", "the DNS cache of the node listens there", "coredns", "systemd-resolved")
		tcp(portNodeDNSMetrics, "DNS cache metrics", "the DNS cache of the node listens there", "coredns")
		tcp(portNodeDNSHealth, "DNS cache health", "the DNS cache of the node listens there", "coredns")
		tcp(portNodeDNSReady, "DNS cache readiness", "the DNS cache of the node listens there", "coredns")
	}
	if n.RunsWitness {
		tcp(c.API.VirtualIP.WitnessPort, "witness", "the witness of the API's virtual address listens there", ProxyHAProxy)
	}
	if n.RunsKubeProxy {
		tcp(portKubeProxyMetrics, "kube-proxy metrics", "kube-proxy listens there", "kube-proxy")
		tcp(portKubeProxyHealth, "kube-proxy health", "kube-proxy listens there", "kube-proxy")
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
	if n.EtcdEvents != nil {
		disk(c.EtcdEvents.DataDir, 512, 0, "etcd keeps the cluster's events there")
	}
	if n.EtcdCalico != nil {
		disk(c.EtcdCalico.DataDir, 512, 0, "etcd keeps the objects of Calico there")
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
func kernelRequirements(c *Cluster, n Node) []Requirement {
	feature := func(name, why string) Requirement {
		return Requirement{Kind: RequireKernel, Name: name, Why: why}
	}
	out := []Requirement{
		feature("overlay", "containers' file systems are layered with it"),
		feature("nf_conntrack", "Services need connection tracking"),
		cgroupRequirement(n),
	}
	if c.KubeProxy.Mode == "iptables" {
		out = append(out, feature("iptables", "kube-proxy writes its rules there"))
	}
	if c.KubeProxy.Mode == "nftables" {
		out = append(out, feature("nftables_services", "kube-proxy refuses mode nftables on older kernels; cluster.kube_proxy.mode: iptables works there"))
	}
	// kube-proxy in its other mode, and the rule that gives pods' traffic out of
	// the cluster the node's address.
	out = append(out, feature("nftables", "traffic of pods is translated there"))
	if c.Network.Authentication != AuthenticationNone {
		out = append(out, feature("tcp_md5", "BGP sessions have a password; cluster.network.authentication: none does without"))
	}
	if !c.Kubelet.SwapAllowed {
		out = append(out, Requirement{Kind: RequireSwap, Name: "swap", Why: "the kubelet refuses to run with swap on unless failSwapOn is false"})
	}
	return out
}

// cgroupRequirement: from v1.35 on a kubelet does not start with cgroups of version 1, unless its
// setting failCgroupV1 is false.
func cgroupRequirement(n Node) Requirement {
	out := Requirement{Kind: RequireCgroup, Name: "cgroup", MinVersion: 1, Why: "pods' resources are limited with it"}
	if atLeast(n.Versions.Kubelet, "1.35.0") && n.KubeletConfig["failCgroupV1"] != false {
		out.MinVersion = 2
		out.Why = "kubelet " + n.Versions.Kubelet + " does not start with version 1; boot with systemd.unified_cgroup_hierarchy=1, or set overrides.kubelet.failCgroupV1: false"
	}
	return out
}

func foreign(path, why string) Requirement {
	return Requirement{Kind: RequireForeign, Name: path, Path: path, Why: why}
}
