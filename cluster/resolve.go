package cluster

import (
	"cmp"
	"slices"
)

// The local API address: every node reaches the API on its own loopback,
// through its own API server or its local proxy.
const localAddress = "127.0.0.1"

// Ports of etcd, fixed by IANA and by every tool that looks for it.
const (
	portEtcdClient = 2379
	portEtcdPeer   = 2380
	// 100 and 200 above those of etcd: nothing is registered there.
	portEventsClient = 2479
	portEventsPeer   = 2480
	portCalicoClient = 2579
	portCalicoPeer   = 2580
	portKubelet      = 10250
)

// Ports of components for the host itself: health checks and metrics.
const (
	portKubeletHealth     = 10248
	portKubeProxyMetrics  = 10249
	portKubeProxyHealth   = 10256
	portControllerManager = 10257
	portScheduler         = 10259
)

// resolver holds the intermediate values of one [Resolve].
type resolver struct {
	spec  Spec
	hosts []Host
	place placement
	out   *Cluster

	proxyNamed bool // true when the inventory names the kind of the API proxy

	problems Problems // settings that overrides must not change
}

// Resolve decides everything about a cluster. Hosts come in inventory order,
// which is the order of everything that has one. When spec and hosts cannot
// make a working cluster the error is of type [Problems], with all of them.
func Resolve(spec Spec, hosts []Host) (*Cluster, error) {
	if problems := Validate(spec, hosts); len(problems) > 0 {
		return nil, problems
	}
	named := spec.Proxy.Kind != ""
	spec = spec.WithDefaults()
	r := resolver{spec: spec, hosts: hosts, place: place(spec, hosts), proxyNamed: named}
	r.spec.Proxy.Port = proxyPort(spec, r.place)
	r.clusterWide()
	topology := r.topology()
	r.out.Network.Mesh, r.out.Network.Reflectors = topology.Mesh, topology.Reflectors
	r.out.Nodes = make(map[string]Node, len(hosts))
	for _, h := range hosts {
		r.out.Nodes[h.Name] = r.basicNode(h, topology)
	}
	// Certificates, flags and files depend on every host.
	for _, h := range hosts {
		r.out.Nodes[h.Name] = r.fullNode(h, r.out.Nodes[h.Name])
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	r.out.Keeper.NodeClients = nodeClients(r.out)
	return r.out, nil
}

// proxyPort returns the port on which hosts of role proxy listen: the API's port, so that clients
// cannot tell a proxy from a master. A host that is both has an API server on
// that port, so then all proxies move aside, to one port for all of them.
func proxyPort(spec Spec, p placement) int {
	switch {
	case spec.Proxy.Port != 0:
		return spec.Proxy.Port
	case p.sharesMaster():
		return 8443
	default:
		return spec.API.Port
	}
}

func (r *resolver) clusterWide() {
	s := r.spec
	services := SplitList(s.ServiceCIDR)
	size := profileOf(s.Size, len(r.place.nodes), r.schedulableNodes(), s.Kubelet.MaxPods)
	size.EtcdQuotaBytes = cmp.Or(s.Etcd.QuotaBackendBytes, size.EtcdQuotaBytes)
	size.ProxyConnections = cmp.Or(s.Proxy.WorkerConnections, size.ProxyConnections)
	size.ProxyCheckInterval = cmp.Or(s.Proxy.CheckInterval, size.ProxyCheckInterval)
	r.out = &Cluster{
		Name:         s.Name,
		Versions:     versionSet(s),
		PodCIDRs:     SplitList(s.PodCIDR),
		ServiceCIDRs: services,
		Families:     s.families(),
		NodePrefix:   s.nodePrefixes()[0],
		NodePrefixes: s.nodePrefixes(),
		ServiceIP:    nthAddresses(services, 1)[0],
		Masters:      orEmpty(r.place.masters),
		Minions:      orEmpty(r.place.minions),
		NodeNames:    orEmpty(r.place.nodes),
		Proxies:      orEmpty(r.place.proxies),
		DNS:          r.dns(size, nthAddresses(services, 10)),
		Size:         size,
		API:          r.api(),
		Etcd:         r.etcd(),
		EtcdGuard:    r.etcdGuard(),
		EtcdEvents:   r.etcdEvents(),
		EtcdCalico:   r.etcdCalico(),
		KubeProxy:    KubeProxy{Mode: s.KubeProxy.Mode},
		Containerd:   Containerd{Registries: registries(s.Containerd), Authorities: authorities(s.Containerd), Credentials: logins(s.Containerd), Proxy: r.containerdProxy()},
		Kubelet:      Kubelet{MaxPods: s.Kubelet.MaxPods, SwapAllowed: r.swapAllowed()},
		Audit:        Audit{Enabled: *s.API.Audit.Enabled, LogDir: s.API.Audit.LogDir, MaxMiB: (s.API.Audit.MaxBackups + 1) * s.API.Audit.MaxSizeMiB, Policy: auditPolicy(s.API.Audit)},
		Encryption:   Encryption{AtRest: *s.Encryption.AtRest, File: encryptionFile},
		Certificates: s.Certificates.resolve(),
		AdminGroup:   AdminGroup,
		Rollout:      s.Rollout.resolve(),
		Keeper:       s.Keeper.resolve(s.Certificates.External.Cluster == ""),
		Hooks:        s.Maintenance.Hooks,
		Sysctls:      sysctls(s, size),
		Modules:      []string{"overlay", "br_netfilter"},
		Order:        []string{},
		Network: Network{
			Plugin: s.Network.Plugin, CNI: s.Network.CNI, ASN: s.Network.ASN, MTU: s.Network.MTU,
			Authentication: s.Network.authentication(), BIRDSockets: birdSockets(s.Network, s.families()), Calico: r.calico(),
			Later: s.Network.Plugin == PluginNone && !s.addsNetwork(), RackLabel: s.Network.BGP.RackLabel, PeerSpecs: s.Network.BGP.Peers, Advertise: s.Network.BGP.Advertise.resolve(s.ServiceCIDR),
		},
		Addons:              s.addons(),
		AddonSpecs:          s.Addons,
		ImageOverrides:      append([]ImageOverride{}, s.ImageOverrides...),
		HostFirewall:        r.hostFirewall(),
		ExternalAuthorities: s.Certificates.External.resolve(),
		UnmanagedNodes:      orEmpty(s.Unmanaged),
	}
	for _, h := range r.hosts {
		r.out.Order = append(r.out.Order, h.Name)
	}
	r.out.Proxy = r.proxy(size)
	r.out.Keeper.Backups = r.keeperBackups()
}

func versionSet(s Spec) VersionSet {
	v := s.Versions
	return VersionSet{
		Kubernetes: s.Kubernetes, Etcd: v.Etcd, Containerd: v.Containerd, Runc: v.Runc, CNI: v.CNI,
		CoreDNS: v.CoreDNS, Pause: v.Pause, Nginx: v.Nginx, HAProxy: v.HAProxy, Calico: v.Calico,
	}
}

func (r *resolver) host(name string) Host {
	return r.hosts[slices.IndexFunc(r.hosts, func(h Host) bool { return h.Name == name })]
}

// schedulableNodes returns the number of nodes that take ordinary pods.
func (r *resolver) schedulableNodes() int {
	n := 0
	for _, h := range r.hosts {
		if h.isNode() && !r.place.taintsMaster(h) {
			n++
		}
	}
	return n
}

func orEmpty(s []string) []string { return append([]string{}, s...) }
