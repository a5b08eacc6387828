package datastore

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/calico/calicotest"
	"deployer/tasks/control/etcd"
)

func storeWith(m *calicotest.Etcd) Store {
	return InEtcd(etcd.NewKeyspace(m.Open, []etcd.Host{{Name: "m1", Address: "10.0.0.1:2579", PeerURL: "https://10.0.0.1:2580"}}, time.Second))
}

func felix(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": "FelixConfiguration", "spec": spec,
		"metadata": map[string]any{"name": "default", "labels": map[string]any{"app.kubernetes.io/managed-by": "deployer"}},
	}}
}

const felixKey = "/calico/resources/v3/projectcalico.org/felixconfigurations/default"

func apply(t *testing.T, s Store, o *unstructured.Unstructured) (changed bool) {
	t.Helper()
	plan, err := s.Plan(t.Context(), []*unstructured.Unstructured{o})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Execute(t.Context(), plan, func(string) {}); err != nil {
		t.Fatal(err)
	}
	return plan[0].Needed
}

// TestObjectsInEtcd: Calico finds an object as it writes them itself; what Calico or the user adds stays,
// and a field that deployer has set goes when it wants it no more.
func TestObjectsInEtcd(t *testing.T) {
	m := calicotest.NewEtcd()
	s := storeWith(m)
	if got, err := s.Get(t.Context(), "FelixConfiguration", "default"); err != nil || got != nil {
		t.Fatal(got, err)
	}
	want := felix(map[string]any{"logSeverityScreen": "Info", "ipv6Support": false, "ports": []any{map[string]any{"port": float64(22)}}})
	if !apply(t, s, want) || apply(t, s, want) {
		t.Fatal("the first run must change something, and the second nothing")
	}
	var stored struct {
		APIVersion, Kind string
		Metadata         map[string]any
		Spec             map[string]any
	}
	if err := json.Unmarshal(m.Data[felixKey].Value, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.APIVersion != "projectcalico.org/v3" || stored.Kind != "FelixConfiguration" || stored.Metadata["uid"] == "" || stored.Metadata["creationTimestamp"] == nil || stored.Metadata["resourceVersion"] != nil {
		t.Errorf("stored: %s", m.Data[felixKey].Value)
	}
	stored.Spec["bpfLogLevel"], stored.Metadata["labels"].(map[string]any)["mine"] = "Off", "yes"
	text, _ := json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.Put(felixKey, string(text))
	if apply(t, s, want) {
		t.Error("a field and a label of the user are no reason for a change")
	}
	// As Calico writes the object again: without false, and with all fields of a port.
	stored.Spec["ports"] = []any{map[string]any{"net": "", "port": 22}}
	delete(stored.Spec, "ipv6Support")
	text, _ = json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.Put(felixKey, string(text))
	if apply(t, s, want) {
		t.Error("the forms in which Calico writes an object are no reason for a change")
	}
	stored.Spec["ports"] = []any{map[string]any{"net": "", "port": 23}}
	text, _ = json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.Put(felixKey, string(text))
	if !apply(t, s, want) {
		t.Error("another port is a reason for a change")
	}
	if !apply(t, s, felix(map[string]any{"ipv6Support": false})) {
		t.Error("a field that is not wanted any more must go")
	}
	got, err := s.Get(t.Context(), "FelixConfiguration", "default")
	if err != nil {
		t.Fatal(err)
	}
	spec := got.Object["spec"].(map[string]any)
	if spec["logSeverityScreen"] != nil || spec["bpfLogLevel"] != "Off" || got.GetLabels()["mine"] != "yes" || string(got.GetUID()) != stored.Metadata["uid"] {
		t.Errorf("the object is %v", got.Object)
	}
}

// TestChangeOfSomebodyElse: a write that would undo a change since the comparison fails.
func TestChangeOfSomebodyElse(t *testing.T) {
	m := calicotest.NewEtcd()
	s := storeWith(m)
	apply(t, s, felix(map[string]any{"ipv6Support": false}))
	plan, err := s.Plan(t.Context(), []*unstructured.Unstructured{felix(map[string]any{"ipv6Support": true})})
	if err != nil {
		t.Fatal(err)
	}
	m.Put(felixKey, string(m.Data[felixKey].Value))
	if err := s.Execute(t.Context(), plan, func(string) {}); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
		t.Errorf("the error is %v", err)
	}
}

// TestAddressesInEtcd reads pools, blocks and the nodes that have them, and no other keys of nodes.
func TestAddressesInEtcd(t *testing.T) {
	m := calicotest.NewEtcd()
	s := storeWith(m)
	m.Put("/calico/resources/v3/projectcalico.org/ippools/a", `{"metadata":{"name":"a"},"spec":{"cidr":"10.244.0.0/16","blockSize":26,"vxlanMode":"Never"}}`)
	m.Put("/calico/ipam/v2/assignment/ipv4/block/10.244.1.0-26", `{"cidr":"10.244.1.0/26","affinity":"host:n1","allocations":[0,null]}`)
	m.Put("/calico/ipam/v2/host/n1/ipv4/block/10.244.1.0-26", `{"state":"confirmed","deleted":false}`)
	m.Put("/calico/ipam/v2/host/n1/other", `{}`)
	m.Put("/calico/ipam/v2/host/n2/ipv6/block/fd00::-122", `{"state":"pending","deleted":false}`)
	var pools []Pool
	var blocks []Block
	var affinities []Affinity
	err := errors.Join(
		s.Pools(t.Context(), func(p Pool) { pools = append(pools, p) }),
		s.Blocks(t.Context(), func(b Block) { blocks = append(blocks, b) }),
		s.Affinities(t.Context(), func(a Affinity) { affinities = append(affinities, a) }))
	if err != nil {
		t.Fatal(err)
	}
	if len(pools) != 1 || pools[0] != (Pool{Name: "a", CIDR: "10.244.0.0/16", BlockSize: 26, VXLANMode: "Never"}) {
		t.Errorf("pools: %+v", pools)
	}
	if len(blocks) != 1 || blocks[0].CIDR != "10.244.1.0/26" || blocks[0].Affinity != "host:n1" || len(blocks[0].Allocations) != 2 || blocks[0].Allocations[1] != nil {
		t.Errorf("blocks: %+v", blocks)
	}
	if want := []Affinity{{"10.244.1.0/26", "n1", "confirmed", false}, {"fd00::/122", "n2", "pending", false}}; !slices.Equal(affinities, want) {
		t.Errorf("affinities: %+v", affinities)
	}
}

// TestNoMember: a datastore without a member that serves is unavailable.
func TestNoMember(t *testing.T) {
	open := func(string, string) (etcd.Member, error) { return nil, errors.New("connection refused") }
	s := InEtcd(etcd.NewKeyspace(open, []etcd.Host{{Name: "m1"}}, 0))
	if _, err := s.Get(t.Context(), "IPPool", "a"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("the error is %v", err)
	}
}

const nodeKey = "/calico/resources/v3/projectcalico.org/nodes/n1"

// TestNodesInEtcd: a node has its labels and, as annotations, the fields of its sessions. A change leaves
// all other fields, and is repeated when Calico's controllers write labels at the same time.
func TestNodesInEtcd(t *testing.T) {
	m := calicotest.NewEtcd()
	s := storeWith(m)
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "1", "old": nil}, "annotations": map[string]any{ClusterID: "10.0.0.4"}}}
	if n, err := s.Node(t.Context(), "n1"); err != nil || n != nil {
		t.Fatal(n, err)
	}
	if err := s.PatchNode(t.Context(), "n1", patch); err == nil || !strings.Contains(err.Error(), "Calico has no node n1") {
		t.Errorf("the error is %v", err)
	}
	const value = `{"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{"name":"n1","uid":"u","labels":{"old":"x"LABEL}},"spec":{"bgp":{"asNumber":64512,"ipv4Address":"10.0.0.4/24"},"orchRefs":[{"nodeName":"n1","orchestrator":"k8s"}]},"status":{"podCIDRs":["10.244.1.0/24"]}}`
	m.Put(nodeKey, strings.Replace(value, "LABEL", "", 1))
	m.BeforeWrite = func(key string) {
		m.BeforeWrite = nil
		m.Put(key, strings.Replace(value, "LABEL", `,"rack":"a"`, 1))
	}
	if err := s.PatchNode(t.Context(), "n1", patch); err != nil {
		t.Fatal(err)
	}
	want := Node{"n1", map[string]string{"a": "1", "rack": "a"}, map[string]string{Address: "10.0.0.4/24", ClusterID: "10.0.0.4"}}
	all, err := s.Nodes(t.Context())
	if diff := cmp.Diff([]Node{want}, all); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	var stored, wanted any
	if err := errors.Join(json.Unmarshal(m.Data[nodeKey].Value, &stored), json.Unmarshal([]byte(`{"kind":"Node","apiVersion":"projectcalico.org/v3","metadata":{"name":"n1","uid":"u","labels":{"a":"1","rack":"a"}},"spec":{"bgp":{"asNumber":64512,"ipv4Address":"10.0.0.4/24","routeReflectorClusterID":"10.0.0.4"},"orchRefs":[{"nodeName":"n1","orchestrator":"k8s"}]},"status":{"podCIDRs":["10.244.1.0/24"]}}`), &wanted)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, stored); diff != "" {
		t.Error(diff)
	}
	if err := s.PatchNode(t.Context(), "n1", map[string]any{"metadata": map[string]any{"annotations": map[string]any{ClusterID: nil}}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Node(t.Context(), "n1"); err != nil || n.Annotations[ClusterID] != "" || n.Labels["a"] != "1" {
		t.Error(n, err)
	}
	m.BeforeWrite = func(key string) { m.Put(key, string(m.Data[key].Value)) }
	if err := s.PatchNode(t.Context(), "n1", patch); !errors.Is(err, etcd.ErrConflict) {
		t.Errorf("the error is %v", err)
	}
	if err := s.PatchNode(t.Context(), "n1", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"mine": "x"}}}); err == nil || !strings.Contains(err.Error(), "no field for the annotation mine") {
		t.Errorf("the error is %v", err)
	}
}
