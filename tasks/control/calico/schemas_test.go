package calico

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/tasks/control/calico/calicotest"
)

// TestObjectsAreValid: every object that the actions write is one of Calico's published kinds.
func TestObjectsAreValid(t *testing.T) {
	c := withRouters(t, nil)
	c.Network.Advertise = cluster.Advertised{ClusterIPs: []string{"10.96.0.0/16"}, ExternalIPs: []string{"192.0.2.0/24"}, LoadBalancerIPs: []string{"203.0.113.0/24"}}
	objects := append(mustRouters(t, c, nil).objects, bgpConfiguration(c.Network, false, sessionSettings{}), bgpConfiguration(resolved(t).Network, true, sessionSettings{nodePasswords + "1", restartTime}))
	for _, name := range []string{cluster.PeerTransition, cluster.PeerReflectors, cluster.PeerClients("m1")} {
		objects = append(objects, bgpPeer(name, sessionSettings{}))
	}
	if len(objects) != 9 {
		t.Fatalf("%d objects", len(objects))
	}
	for _, version := range calicotest.Versions() {
		for _, o := range objects {
			if err := calicotest.Validate(version, o.Object); err != nil {
				t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
		for name, spec := range map[string]map[string]any{
			"an unknown field": {"peerIP": "10.0.0.1", "bfd": true}, "a text as a number": {"asNumber": "64512"},
		} {
			o := &unstructured.Unstructured{Object: map[string]any{"kind": "BGPPeer", "spec": spec}}
			if calicotest.Validate(version, o.Object) == nil {
				t.Errorf("Calico %s: %s is valid", version, name)
			}
		}
	}
}

// TestBlocksAreValid: what a change of the plugin writes for Calico's address management is of its published
// kinds. v3.28 drops the type of an affinity, which is always that of nodes there.
func TestBlocksAreValid(t *testing.T) {
	objects := []*unstructured.Unstructured{frozenConfig()}
	for _, block := range []string{"10.244.1.64/26", "fd00:10:244::40/122"} {
		objects = append(objects, blockObjects("n1", netip.MustParsePrefix(block))...)
	}
	for _, version := range calicotest.Versions() {
		kinds := map[string]int{}
		for _, o := range objects {
			o = o.DeepCopy()
			if version == "v3.28.4" && o.GetKind() == "BlockAffinity" {
				unstructured.RemoveNestedField(o.Object, "spec", "type")
			}
			if err := calicotest.Validate(version, o.Object); err != nil {
				t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
			kinds[o.GetKind()]++
		}
		if kinds["IPAMConfig"] != 1 || kinds["IPAMBlock"] != 2 || kinds["BlockAffinity"] != 2 {
			t.Errorf("kinds: %v", kinds)
		}
		for kind, spec := range map[string]map[string]any{
			"IPAMBlock":     {"cidr": "10.244.1.64/26", "allocations": []any{"a"}, "unallocated": []any{}, "attributes": []any{}, "strictAffinity": false},
			"BlockAffinity": {"cidr": "10.244.1.64/26", "node": "n1", "state": "confirmed", "deleted": false},
			"IPAMConfig":    {"strictAffinity": true},
		} {
			if calicotest.Validate(version, map[string]any{"kind": kind, "spec": spec}) == nil {
				t.Errorf("Calico %s: a bad %s is valid", version, kind)
			}
		}
	}
}
