package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

func TestAllocatePodCIDRs(t *testing.T) {
	const pods = "10.244.0.0/16"
	cases := []struct {
		name   string
		cidr   string
		prefix int
		nodes  []cluster.PodRange
		want   string // ranges in order of nodes
		moved  string // names
		err    string
	}{
		{name: "new cluster", nodes: []cluster.PodRange{{Name: "a"}, {Name: "b"}}, want: "10.244.0.0/24 10.244.1.0/24"},
		{name: "kept, and the gap is filled", nodes: []cluster.PodRange{{Name: "a", OnHost: "10.244.1.0/24"}, {Name: "b"}, {Name: "c"}},
			want: "10.244.1.0/24 10.244.0.0/24 10.244.2.0/24"},
		{name: "the API wins over the host", nodes: []cluster.PodRange{{Name: "a", IsNode: true, InAPI: "10.244.5.0/24", OnHost: "10.244.6.0/24"}},
			want: "10.244.5.0/24"},
		{name: "one with a Node object before one without", nodes: []cluster.PodRange{{Name: "a", OnHost: "10.244.3.0/24"}, {Name: "b", OnHost: "10.244.3.0/24", IsNode: true}},
			want: "10.244.0.0/24 10.244.3.0/24", moved: "a"},
		{name: "else the first", nodes: []cluster.PodRange{{Name: "a", OnHost: "10.244.3.0/24"}, {Name: "b", OnHost: "10.244.3.0/24"}},
			want: "10.244.3.0/24 10.244.0.0/24", moved: "b"},
		{name: "a node that is gone keeps its range", nodes: []cluster.PodRange{{Name: "old", IsNode: true, InAPI: "10.244.0.0/24", Gone: true}, {Name: "a"}},
			want: " 10.244.1.0/24"},
		{name: "pod_cidr was changed before any Node existed", nodes: []cluster.PodRange{{Name: "a", OnHost: "10.9.0.0/24"}}, want: "10.244.0.0/24", moved: "a"},
		{name: "node_prefix was changed", prefix: 25, nodes: []cluster.PodRange{{Name: "a", IsNode: true, InAPI: "10.244.0.0/24"}, {Name: "b"}},
			want: "10.244.0.0/24 10.244.1.0/25"},
		{name: "nonsense on the host", nodes: []cluster.PodRange{{Name: "a", OnHost: "x"}}, want: "10.244.0.0/24", moved: "a"},
		{name: "IPv6", cidr: "fd00:10::/48", prefix: 64, nodes: []cluster.PodRange{{Name: "a"}, {Name: "b"}}, want: "fd00:10::/64 fd00:10:0:1::/64"},
		{name: "full", cidr: "10.244.0.0/23", nodes: []cluster.PodRange{{Name: "a"}, {Name: "b"}, {Name: "c"}}, err: "no pod range is left for node c"},
		{name: "a Node outside", nodes: []cluster.PodRange{{Name: "a", IsNode: true, InAPI: "10.9.0.0/24"}}, err: "restore pod_cidr"},
		{name: "two Nodes with one range", nodes: []cluster.PodRange{{Name: "a", IsNode: true, InAPI: "10.244.0.0/24"}, {Name: "b", IsNode: true, InAPI: "10.244.0.0/24"}},
			err: "delete one of the Node objects"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if tc.cidr == "" {
				tc.cidr = pods
			}
			if tc.prefix == 0 {
				tc.prefix = 24
			}
			got, err := cluster.AllocatePodCIDRs(tc.cidr, tc.prefix, tc.nodes)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error is %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ranges, moved []string
			for _, n := range tc.nodes {
				ranges = append(ranges, strings.Join(got.Ranges[n.Name], ","))
				if got.Moved[n.Name] != "" {
					moved = append(moved, n.Name)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(ranges, " ")); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.moved, strings.Join(moved, " ")); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAllocatePodCIDRsProperties: for any state, no two nodes share an address, every
// node gets a range inside the pods' range, no range of a Node object changes, and a
// second run has the same result.
func TestAllocatePodCIDRsProperties(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		pods, bits := "10.244.0.0/18", 24 // 64 ranges
		if r.IntN(2) == 0 {
			pods, bits = "fd00:10::/58", 64
		}
		nodes := randomRanges(r, netip.MustParsePrefix(pods), bits)
		first, err := cluster.AllocatePodCIDRs(pods, bits, nodes)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		held := map[netip.Prefix]string{}
		for i, n := range nodes {
			mine := n.InAPI
			if !n.Gone {
				if len(first.Ranges[n.Name]) != 1 {
					t.Fatalf("seed %d: node %s has ranges %v", seed, n.Name, first.Ranges[n.Name])
				}
				mine = first.Ranges[n.Name][0]
			}
			p := netip.MustParsePrefix(mine)
			if !netip.MustParsePrefix(pods).Contains(p.Addr()) || held[p] != "" {
				t.Fatalf("seed %d: %s of %s is outside or held by %q", seed, p, n.Name, held[p])
			}
			held[p] = n.Name
			if n.InAPI != "" && n.InAPI != mine {
				t.Fatalf("seed %d: the Node range of %s changed from %s to %s", seed, n.Name, n.InAPI, mine)
			}
			if !n.Gone {
				nodes[i].OnHost = mine
			}
		}
		second, err := cluster.AllocatePodCIDRs(pods, bits, nodes)
		if err != nil || !cmp.Equal(first.Ranges, second.Ranges) || len(second.Moved) > 0 {
			t.Fatalf("seed %d: a second run differs (%v):\n%s", seed, err, cmp.Diff(first.Ranges, second.Ranges))
		}
		// A node at the end of the inventory changes no other node's range.
		third, err := cluster.AllocatePodCIDRs(pods, bits, append(nodes, cluster.PodRange{Name: "late"}))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		delete(third.Ranges, "late")
		if diff := cmp.Diff(first.Ranges, third.Ranges); diff != "" {
			t.Fatalf("seed %d: adding a node moved others:\n%s", seed, diff)
		}
	}
}

// randomRanges are up to 40 nodes out of 64 ranges, with stale, foreign and
// equal ranges on hosts, and distinct ones in the API.
func randomRanges(r *rand.Rand, pods netip.Prefix, bits int) []cluster.PodRange {
	free := r.Perm(64)
	at := func(i int) string {
		b := pods.Addr().AsSlice()
		b[bits/8-1] = byte(i) //nolint:gosec // below 64
		a, _ := netip.AddrFromSlice(b)
		return netip.PrefixFrom(a, bits).String()
	}
	var out []cluster.PodRange
	for i := range 1 + r.IntN(40) {
		n := cluster.PodRange{Name: fmt.Sprintf("n%d", i)}
		if n.IsNode = r.IntN(3) == 0; n.IsNode && r.IntN(4) > 0 {
			n.InAPI = at(free[i])
			n.Gone = r.IntN(5) == 0
		}
		switch r.IntN(6) {
		case 0, 1:
			n.OnHost = at(r.IntN(64))
		case 2:
			n.OnHost = "192.168.7.0/24"
		case 3:
			n.OnHost = "not a range"
		}
		out = append(out, n)
	}
	return out
}
