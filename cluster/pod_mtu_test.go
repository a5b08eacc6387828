package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoosePodMTU(t *testing.T) {
	node := func(name string, present int, uplinks ...UplinkMTU) NodeMTU {
		return NodeMTU{Name: name, Present: present, Uplinks: uplinks}
	}
	eth := func(mtu int) UplinkMTU { return UplinkMTU{"eth0", mtu} }
	for name, tt := range map[string]struct {
		nodes    []NodeMTU
		want     PodMTU
		tooSmall []PodMTU
	}{
		"no node":                     {nil, PodMTU{}, nil},
		"the default":                 {[]NodeMTU{node("m1", 0, eth(1500)), node("n1", 0, eth(1500))}, PodMTU{}, nil},
		"jumbo frames":                {[]NodeMTU{node("m1", 0, eth(9000)), node("n1", 0, eth(9000))}, PodMTU{}, nil},
		"the lowest of all nodes":     {[]NodeMTU{node("m1", 0, eth(1500)), node("n1", 0, eth(9000), UplinkMTU{"vlan7", 1400}), node("n2", 0, eth(1450))}, PodMTU{1400, "n1", "vlan7"}, nil},
		"it rises again":              {[]NodeMTU{node("m1", 1400, eth(1500)), node("n1", 1400, eth(1500))}, PodMTU{}, nil},
		"a node is unknown":           {[]NodeMTU{node("m1", 1400, eth(1500)), {Name: "n1", Unknown: true}}, PodMTU{1400, "m1", ""}, nil},
		"a new cluster, one unknown":  {[]NodeMTU{node("m1", 0, eth(1500)), {Name: "n1", Unknown: true}}, PodMTU{}, nil},
		"an interface without an MTU": {[]NodeMTU{node("m1", 0, eth(0))}, PodMTU{}, nil},
		"a node reports nonsense":     {[]NodeMTU{node("m1", 0, eth(1450)), node("n1", 0, eth(68))}, PodMTU{1450, "m1", "eth0"}, []PodMTU{{68, "n1", "eth0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, tooSmall := ChoosePodMTU(tt.nodes)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.tooSmall, tooSmall); diff != "" {
				t.Error(diff)
			}
		})
	}
}
