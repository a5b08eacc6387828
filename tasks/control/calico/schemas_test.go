package calico

import (
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
