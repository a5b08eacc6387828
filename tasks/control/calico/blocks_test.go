package calico

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlockObjects compares the objects with those that Calico v3.31 writes.
func TestBlockObjects(t *testing.T) {
	got := blockObjects("n1", netip.MustParsePrefix("10.244.1.64/30"))
	want := []map[string]any{
		{"cidr": "10.244.1.64/30", "affinity": "host:n1", "allocations": []any{nil, nil, nil, nil}, "unallocated": []any{int64(0), int64(1), int64(2), int64(3)}, "attributes": []any{}, "deleted": false, "strictAffinity": false},
		{"cidr": "10.244.1.64/30", "node": "n1", "type": "host", "state": "confirmed", "deleted": "false"},
	}
	labels := []map[string]string{nil, {
		"projectcalico.org/hostname-hash": "DM7EHBDU4L3ELKRER4A46T6QMKAGARQI4CVWBO26S4I2IDAAW6CA",
		"projectcalico.org/affinity-type": "host", "projectcalico.org/ip-version": "4",
	}}
	for i, name := range []string{"10-244-1-64-30", "n1-10-244-1-64-30"} {
		if got[i].GetName() != name {
			t.Errorf("%s has the name %s", got[i].GetKind(), got[i].GetName())
		}
		if diff := cmp.Diff(labels[i], got[i].GetLabels()); diff != "" {
			t.Errorf("%s: labels\n%s", name, diff)
		}
		if diff := cmp.Diff(want[i], got[i].Object["spec"]); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if family := blockObjects("n1", netip.MustParsePrefix("fd00::40/122"))[1].GetLabels()["projectcalico.org/ip-version"]; family != "6" {
		t.Errorf("a block of IPv6 has the family %s", family)
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
