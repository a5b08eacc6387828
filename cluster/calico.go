package cluster

import "maps"

// PluginCalico is the value of cluster.network.plugin of a cluster whose pods are connected by
// Calico, with its objects in the Kubernetes API.
const PluginCalico = "calico"

// Values of cluster.network.calico.encapsulation.
const (
	EncapsulationNone             = "none"
	EncapsulationVXLAN            = "vxlan"
	EncapsulationVXLANCrossSubnet = "vxlan-cross-subnet"
	EncapsulationIPIP             = "ipip"
	EncapsulationIPIPCrossSubnet  = "ipip-cross-subnet"
)

// Encapsulations lists the values of cluster.network.calico.encapsulation.
func Encapsulations() []string {
	return []string{EncapsulationNone, EncapsulationVXLAN, EncapsulationVXLANCrossSubnet, EncapsulationIPIP, EncapsulationIPIPCrossSubnet}
}

// Ports of Calico (docs.tigera.io, System requirements; felix/config and typha/pkg/config).
const (
	portFelixHealth = 9099
	portTyphaHealth = 9098
	portTypha       = 5473
)

// Calico is the resolved configuration of Calico; empty with another plugin.
type Calico struct {
	Datastore string         `json:"datastore"` // where Calico has its objects: kubernetes or etcd; empty with another plugin
	Backend   string         `json:"backend"`   // backend of calico-node: bird (routes by BGP) or vxlan; empty with another plugin
	Pools     []ResolvedPool `json:"pools"`     // pools of pod addresses; the first are those of pod_cidr
	Typha     []string       `json:"typha"`     // names of the hosts that run Typha; empty without Typha
	Felix     map[string]any `json:"felix"`     // spec of FelixConfiguration default
}

// ResolvedPool is a pool of pod addresses, with Calico's words.
type ResolvedPool struct {
	Name         string `json:"name"`          // name of the IPPool
	CIDR         string `json:"cidr"`          // range of addresses
	BlockSize    int    `json:"block_size"`    // prefix length of the blocks of nodes
	IPIPMode     string `json:"ipip_mode"`     // Never, Always or CrossSubnet
	VXLANMode    string `json:"vxlan_mode"`    // Never, Always or CrossSubnet
	NATOutgoing  bool   `json:"nat_outgoing"`  // packets to addresses of no pool get the node's address
	NodeSelector string `json:"node_selector"` // nodes that take blocks
	Disabled     bool   `json:"disabled"`      // no new addresses are taken
}

// Backends of calico-node: the programs that make the routes to the pods of other nodes.
const (
	BackendBIRD  = "bird"
	backendVXLAN = "vxlan" // Felix alone
)

// backend returns the backend of calico-node for an encapsulation.
func backend(encapsulation string) string {
	if encapsulation == EncapsulationVXLAN || encapsulation == EncapsulationVXLANCrossSubnet {
		return backendVXLAN
	}
	return BackendBIRD
}

// modes returns the IPIP and VXLAN modes of a pool.
func modes(encapsulation string) (ipip, vxlan string) {
	switch encapsulation {
	case EncapsulationIPIP:
		return "Always", "Never"
	case EncapsulationIPIPCrossSubnet:
		return "CrossSubnet", "Never"
	case EncapsulationVXLAN:
		return "Never", "Always"
	case EncapsulationVXLANCrossSubnet:
		return "Never", "CrossSubnet"
	}
	return "Never", "Never"
}

// defaultPools are the names of the pools of pod_cidr, as in Calico's own manifests.
var defaultPools = map[string]string{FamilyIPv4: "default-ipv4-ippool", FamilyIPv6: "default-ipv6-ippool"}

// calico returns the configuration of Calico.
func (r *resolver) calico() Calico {
	out := Calico{Pools: []ResolvedPool{}, Typha: []string{}, Felix: map[string]any{}}
	if r.spec.Network.Plugin != PluginCalico {
		return out
	}
	s := r.spec.Network.Calico
	ipip, vxlan := modes(s.Encapsulation)
	out.Datastore, out.Backend = s.Datastore, backend(s.Encapsulation)
	add := func(p ResolvedPool) {
		p.IPIPMode, p.VXLANMode = ipip, vxlan
		if FamilyOf(p.CIDR) == FamilyIPv6 {
			p.IPIPMode = "Never" // IPIP carries IPv4 only
		}
		out.Pools = append(out.Pools, p)
	}
	for _, family := range []string{FamilyIPv4, FamilyIPv6} {
		if cidr := OfFamily(r.spec.PodCIDR, family); cidr != "" {
			add(ResolvedPool{Name: defaultPools[family], CIDR: cidr, BlockSize: s.blockSize(family), NATOutgoing: *s.NATOutgoing, NodeSelector: "all()"})
		}
	}
	for _, p := range s.Pools {
		add(ResolvedPool{Name: p.Name, CIDR: p.CIDR, BlockSize: p.BlockSize, NATOutgoing: *p.NATOutgoing, NodeSelector: p.NodeSelector, Disabled: p.Disabled})
	}
	if s.Datastore == DatastoreKubernetes {
		out.Typha = typhaHosts(r.place, s.Typha)
	}
	// calico-node sets the first two at its first start when they are missing, and rewrites the object. Felix
	// compares its rules with those of the kernel as often as kube-proxy does: by its own default every 180 s, so long
	// NetworkPolicies would not be enforced after another program has removed the rules.
	out.Felix = map[string]any{"logSeverityScreen": "Info", "reportingInterval": "0s", "iptablesRefreshInterval": "30s"}
	maps.Copy(out.Felix, s.Felix)
	maps.Copy(out.Felix, ownedFelix(r.spec, r.place))
	return out
}

// ownedFelix returns the settings of FelixConfiguration that deployer makes.
func ownedFelix(s Spec, p placement) map[string]any {
	inbound, outbound := failsafePorts(s, p)
	return map[string]any{
		"failsafeInboundHostPorts":  inbound,
		"failsafeOutboundHostPorts": outbound,
		"ipv6Support":               s.hasIPv6(),
		"bpfEnabled":                false,
		"usageReportingEnabled":     false, // deployer sends nothing to anybody, nor do its parts
	}
}

// calicoImages returns the images of a node's static pods of Calico.
func calicoImages(n Node, version string) []Image {
	var out []Image
	if n.RunsCalico {
		out = append(out, Image{"calico-node", version}, Image{"calico-cni", version})
	}
	if n.RunsTypha {
		out = append(out, Image{"calico-typha", version})
	}
	return out
}
