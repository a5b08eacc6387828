package cluster

import (
	"cmp"
	"slices"
)

// CalicoSpec is the `cluster.network.calico:` section.
type CalicoSpec struct {
	Encapsulation string         `yaml:"encapsulation" enum:"none,vxlan,vxlan-cross-subnet,ipip,ipip-cross-subnet" default:"none" doc:"How packets between pods of different nodes travel. none: routed, by BGP; the nodes must share one layer-2 network, or its routers must learn the routes. vxlan and ipip: in packets between nodes, through any network; with -cross-subnet only between nodes of different subnets. With vxlan there is no BGP. It does not change in a cluster in use."`
	Datastore     string         `yaml:"datastore" enum:"kubernetes,etcd" default:"kubernetes" doc:"Where Calico has its objects: in the Kubernetes API, or in an etcd cluster of its own with a member on each host of role etcd (ports 2579 and 2580), its own authority, and users who may read and write what Calico's documentation says. It does not change in a cluster in use. With etcd there is no Typha."`
	Etcd          CalicoEtcdSpec `yaml:"etcd" doc:"The etcd cluster of datastore etcd."`
	BlockSize     int            `yaml:"block_size" default:"26" doc:"Prefix length of the blocks of addresses that nodes take from pod_cidr: 20 to 32. It does not change in a cluster in use."`
	BlockSizeIPv6 int            `yaml:"block_size_ipv6" default:"122" doc:"Prefix length of the blocks that nodes take from the IPv6 range in pod_cidr: 116 to 128. It does not change in a cluster in use."`
	NATOutgoing   *bool          `yaml:"nat_outgoing" default:"true" doc:"Whether packets of pods to addresses that are of no pool get the address of the node."`
	Pools         []CalicoPool   `yaml:"pools" doc:"Further pools of pod addresses, beside pod_cidr; default: none."`
	Typha         string         `yaml:"typha" enum:"auto,always,never" default:"auto" doc:"Whether nodes read Calico's objects through Typha, which spares the API servers: auto from 51 nodes on. It runs on masters, and on minions where more are needed: max(3, nodes/200 + 2). Nodes and Typha prove to each other who they are by certificates of the cluster."`
	Felix         map[string]any `yaml:"felix" doc:"Settings of FelixConfiguration default, by their names in Calico's reference, such as logSeverityScreen: Warning; settings that deployer makes are errors."`
}

// CalicoPool is an element of `cluster.network.calico.pools:`.
type CalicoPool struct {
	Name         string `yaml:"name" json:"name" doc:"Name of the IPPool."`
	CIDR         string `yaml:"cidr" json:"cidr" doc:"Range of addresses; it overlaps no other range of the cluster."`
	BlockSize    int    `yaml:"block_size" json:"block_size" doc:"As network.calico.block_size, or block_size_ipv6 for a range of IPv6, which are the defaults."`
	NodeSelector string `yaml:"node_selector" json:"node_selector" doc:"Nodes that take blocks of the pool, as a selector of Calico, such as rack == 'a'; default all()."`
	NATOutgoing  *bool  `yaml:"nat_outgoing" json:"nat_outgoing" doc:"As network.calico.nat_outgoing, which is the default."`
	Disabled     bool   `yaml:"disabled" json:"disabled" doc:"Take no new addresses from the pool; default false."`
}

// blockSize returns the prefix length of the blocks of a family.
func (s CalicoSpec) blockSize(family string) int {
	if family == FamilyIPv6 {
		return s.BlockSizeIPv6
	}
	return s.BlockSize
}

func (s CalicoSpec) withDefaults() CalicoSpec {
	s.Encapsulation = cmp.Or(s.Encapsulation, EncapsulationNone)
	s.Datastore = cmp.Or(s.Datastore, DatastoreKubernetes)
	s.Etcd = s.Etcd.withDefaults()
	s.BlockSize = cmp.Or(s.BlockSize, 26) // Calico's own, as the next one
	s.BlockSizeIPv6 = cmp.Or(s.BlockSizeIPv6, 122)
	s.NATOutgoing = orTrue(s.NATOutgoing)
	s.Typha = cmp.Or(s.Typha, TyphaAuto)
	s.Pools = slices.Clone(s.Pools)
	for i, p := range s.Pools {
		s.Pools[i].BlockSize = cmp.Or(p.BlockSize, s.blockSize(FamilyOf(p.CIDR)))
		s.Pools[i].NodeSelector = cmp.Or(p.NodeSelector, "all()")
		s.Pools[i].NATOutgoing = cmp.Or(p.NATOutgoing, s.NATOutgoing)
	}
	return s
}
