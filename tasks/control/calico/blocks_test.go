package calico

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMissingBlocks(t *testing.T) {
	node := func(name, cidr string) corev1.Node {
		return corev1.Node{ObjectMeta: v1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidr}}
	}
	nodes := []corev1.Node{node("n1", "10.244.0.0/25"), node("n2", "10.244.1.0/26")}
	for name, c := range map[string]struct {
		nodes []corev1.Node
		has   map[string]string
		want  []string // "error: " and a part of the message
	}{
		"all":             {nodes, nil, []string{"n1 [10.244.0.0/26 10.244.0.64/26]", "n2 [10.244.1.0/26]"}},
		"some":            {nodes, map[string]string{"10.244.0.64/26": "n1"}, []string{"n1 [10.244.0.0/26]", "n2 [10.244.1.0/26]"}},
		"none":            {nodes[1:], map[string]string{"10.244.1.0/26": "n2"}, nil},
		"of another node": {nodes, map[string]string{"10.244.1.0/26": "n1"}, []string{"error: node n1 has the block 10.244.1.0/26, which is in the range 10.244.1.0/26 of node n2"}},
		"too small":       {[]corev1.Node{node("n1", "10.244.0.0/27")}, nil, []string{"error: node n1: the range 10.244.0.0/27 has no blocks of /26"}},
		"without a range": {[]corev1.Node{node("n1", "")}, nil, []string{"error: node n1: "}},
	} {
		missing, most, err := missingBlocks(c.nodes, c.has, 26)
		if err != nil {
			if len(c.want) != 1 || !strings.HasPrefix("error: "+err.Error(), c.want[0]) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var got []string
		for _, m := range missing {
			got = append(got, fmt.Sprintf("%s %v", m.name, m.blocks))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if most != len(c.nodes) { // one range of two blocks, and one of one
			t.Errorf("%s: the largest range has %d blocks", name, most)
		}
	}
}

// TestBlockObjects compares the objects with those that Calico v3.28 writes.
func TestBlockObjects(t *testing.T) {
	got := blockObjects("n1", netip.MustParsePrefix("10.244.1.64/30"))
	want := []map[string]any{
		{"cidr": "10.244.1.64/30", "affinity": "host:n1", "allocations": []any{nil, nil, nil, nil}, "unallocated": []any{int64(0), int64(1), int64(2), int64(3)}, "attributes": []any{}, "deleted": false, "strictAffinity": false},
		{"cidr": "10.244.1.64/30", "node": "n1", "state": "confirmed", "deleted": "false"},
	}
	for i, name := range []string{"10-244-1-64-30", "n1-10-244-1-64-30"} {
		if got[i].GetName() != name || len(got[i].GetLabels()) > 0 {
			t.Errorf("%s has the name %s and the labels %v", got[i].GetKind(), got[i].GetName(), got[i].GetLabels())
		}
		if diff := cmp.Diff(want[i], got[i].Object["spec"]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAffinityName(t *testing.T) {
	long := strings.Repeat("n", 240)
	for node, want := range map[string]string{
		"n1": "n1-10-244-0-0-26",
		// The first 252 - 13 - 13 letters, the block, and 11 digits of the hash of both.
		long: strings.Repeat("n", 226) + "-10-244-0-0-26-",
	} {
		got := affinityName(node, "10-244-0-0-26")
		if !strings.HasPrefix(got, want) || len(got) > maxObjectName || len(want) < 20 && got != want {
			t.Errorf("%d bytes: %s, want %s", len(got), got, want)
		}
	}
	if affinityName(long, "10-244-0-0-26") == affinityName(long[1:]+"m", "10-244-0-0-26") {
		t.Error("two long names have one affinity")
	}
}
