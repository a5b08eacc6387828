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

// TestShareBlocks: a node gets the blocks of its range; blocks in ranges of others, and those outside of
// all ranges, are told apart.
func TestShareBlocks(t *testing.T) {
	node := func(name, cidr string) corev1.Node {
		return corev1.Node{ObjectMeta: v1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidr}}
	}
	nodes := []corev1.Node{node("n1", "10.244.0.0/25"), node("n2", "10.244.1.0/26")}
	pools := []pool{{netip.MustParsePrefix("10.9.0.0/16"), 24}, {netip.MustParsePrefix("10.244.0.0/16"), 26}}
	for name, c := range map[string]struct {
		has              map[string]string
		missing, foreign []string
		outside          map[string]any
	}{
		"none": {nil, []string{"n1 [10.244.0.0/26 10.244.0.64/26]", "n2 [10.244.1.0/26]"}, nil, map[string]any{}},
		"own":  {map[string]string{"10.244.0.64/26": "n1", "10.244.1.0/26": "n2"}, []string{"n1 [10.244.0.0/26]"}, nil, map[string]any{}},
		"outside of all": {map[string]string{"10.244.9.0/26": "n2", "10.244.8.64/26": "n2"}, []string{"n1 [10.244.0.0/26 10.244.0.64/26]", "n2 [10.244.1.0/26]"}, nil,
			map[string]any{"n2": []any{"10.244.8.64/26", "10.244.9.0/26"}}},
		"of another":  {map[string]string{"10.244.1.0/26": "n1"}, []string{"n1 [10.244.0.0/26 10.244.0.64/26]", "n2 [10.244.1.0/26]"}, []string{"10.244.1.0/26"}, map[string]any{}},
		"a large one": {map[string]string{"10.244.0.0/23": "n3"}, []string{"n1 [10.244.0.0/26 10.244.0.64/26]", "n2 [10.244.1.0/26]"}, []string{"10.244.0.0/23"}, map[string]any{}},
	} {
		got, err := shareBlocks(nodes, c.has, pools)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var missing []string
		for _, m := range got.missing {
			missing = append(missing, fmt.Sprintf("%s %v", m.name, m.blocks))
		}
		if diff := cmp.Diff(c.missing, missing) + cmp.Diff(c.foreign, got.foreign) + cmp.Diff(c.outside, got.outside); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestShareBlocksOfTwoFamilies: a range of IPv6 has more blocks than a node can use, and gets the first.
func TestShareBlocksOfTwoFamilies(t *testing.T) {
	node := corev1.Node{ObjectMeta: v1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{PodCIDR: "10.244.0.0/25", PodCIDRs: []string{"10.244.0.0/25", "fd00:10:244::/64"}}}
	pools := []pool{{netip.MustParsePrefix("10.244.0.0/16"), 26}, {netip.MustParsePrefix("fd00:10:244::/56"), 122}}
	got, err := shareBlocks([]corev1.Node{node}, map[string]string{"fd00:10:244::/122": "n1", "fd00:10:244:9::/122": "n1"}, pools)
	if err != nil {
		t.Fatal(err)
	}
	blocks := fmt.Sprint(got.missing[0].blocks)
	if !strings.HasPrefix(blocks, "[10.244.0.0/26 10.244.0.64/26 fd00:10:244::40/122 ") || !strings.HasSuffix(blocks, " fd00:10:244::3c0/122]") || len(got.missing[0].blocks) != 2+15 {
		t.Errorf("missing: %s", blocks)
	}
	if diff := cmp.Diff(map[string]any{"n1": []any{"fd00:10:244:9::/122"}}, got.outside); diff != "" {
		t.Error(diff)
	}
	objects, effects := got.give()
	if len(objects) != 34 || len(effects) != 1 || objects[4].GetName() != "fd00-10-244--40-122" {
		t.Errorf("%d objects, %v, %s", len(objects), effects, objects[4].GetName())
	}
	node.Spec = corev1.NodeSpec{}
	if _, err := shareBlocks([]corev1.Node{node}, nil, pools); err == nil || !strings.Contains(err.Error(), "node n1 has no range") {
		t.Errorf("a node without a range: %v", err)
	}
}
