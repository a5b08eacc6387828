package datastore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/etcd"
)

// member is an etcd cluster of one member.
type member struct {
	etcd.Member
	revision int64
	data     map[string]etcd.Record
}

func (m *member) Status(context.Context) (etcd.Status, error) {
	return etcd.Status{MemberID: 1, Leader: 1}, nil
}
func (m *member) Read(context.Context) error { return nil }
func (m *member) Close() error               { return nil }
func (m *member) Members(context.Context) ([]etcd.Entry, error) {
	return []etcd.Entry{{ID: 1, Name: "m1", PeerURLs: []string{"https://10.0.0.1:2580"}}}, nil
}

func (m *member) List(_ context.Context, from string, limit int64) ([]etcd.Record, error) {
	var keys []string
	for key := range m.data {
		if key >= from {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []etcd.Record
	for _, key := range keys[:min(int(limit), len(keys))] {
		out = append(out, m.data[key])
	}
	return out, nil
}

func (m *member) Write(_ context.Context, r etcd.Record) (bool, error) {
	if m.data[r.Key].Revision != r.Revision {
		return false, nil
	}
	m.revision++
	r.Revision = m.revision
	m.data[r.Key] = r
	return true, nil
}

func (m *member) Delete(_ context.Context, key string) error {
	delete(m.data, key)
	return nil
}

func storeWith(m *member) Store {
	open := func(string, string) (etcd.Member, error) { return m, nil }
	return InEtcd(etcd.NewKeyspace(open, []etcd.Host{{Name: "m1", Address: "10.0.0.1:2579", PeerURL: "https://10.0.0.1:2580"}}, time.Second))
}

func felix(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": APIVersion, "kind": "FelixConfiguration", "spec": spec,
		"metadata": map[string]any{"name": "default", "labels": map[string]any{"app.kubernetes.io/managed-by": "deployer"}},
	}}
}

const felixKey = "/calico/resources/v3/projectcalico.org/felixconfigurations/default"

func (m *member) write(t *testing.T, key, value string) {
	t.Helper()
	if ok, err := m.Write(t.Context(), etcd.Record{Key: key, Value: []byte(value), Revision: m.data[key].Revision}); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

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
	m := &member{data: map[string]etcd.Record{}}
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
	if err := json.Unmarshal(m.data[felixKey].Value, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.APIVersion != "projectcalico.org/v3" || stored.Kind != "FelixConfiguration" || stored.Metadata["uid"] == "" || stored.Metadata["creationTimestamp"] == nil || stored.Metadata["resourceVersion"] != nil {
		t.Errorf("stored: %s", m.data[felixKey].Value)
	}
	stored.Spec["bpfLogLevel"], stored.Metadata["labels"].(map[string]any)["mine"] = "Off", "yes"
	text, _ := json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.write(t, felixKey, string(text))
	if apply(t, s, want) {
		t.Error("a field and a label of the user are no reason for a change")
	}
	// As Calico writes the object again: without false, and with all fields of a port.
	stored.Spec["ports"] = []any{map[string]any{"net": "", "port": 22}}
	delete(stored.Spec, "ipv6Support")
	text, _ = json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.write(t, felixKey, string(text))
	if apply(t, s, want) {
		t.Error("the forms in which Calico writes an object are no reason for a change")
	}
	stored.Spec["ports"] = []any{map[string]any{"net": "", "port": 23}}
	text, _ = json.Marshal(map[string]any{"apiVersion": stored.APIVersion, "kind": stored.Kind, "metadata": stored.Metadata, "spec": stored.Spec})
	m.write(t, felixKey, string(text))
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
	m := &member{data: map[string]etcd.Record{}}
	s := storeWith(m)
	apply(t, s, felix(map[string]any{"ipv6Support": false}))
	plan, err := s.Plan(t.Context(), []*unstructured.Unstructured{felix(map[string]any{"ipv6Support": true})})
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, felixKey, string(m.data[felixKey].Value))
	if err := s.Execute(t.Context(), plan, func(string) {}); err == nil || !strings.Contains(err.Error(), "changed by somebody else") {
		t.Errorf("the error is %v", err)
	}
}

// TestAddressesInEtcd reads pools, blocks and the nodes that have them, and no other keys of nodes.
func TestAddressesInEtcd(t *testing.T) {
	m := &member{data: map[string]etcd.Record{}}
	s := storeWith(m)
	m.write(t, "/calico/resources/v3/projectcalico.org/ippools/a", `{"metadata":{"name":"a"},"spec":{"cidr":"10.244.0.0/16","blockSize":26,"vxlanMode":"Never"}}`)
	m.write(t, "/calico/ipam/v2/assignment/ipv4/block/10.244.1.0-26", `{"cidr":"10.244.1.0/26","affinity":"host:n1","allocations":[0,null]}`)
	m.write(t, "/calico/ipam/v2/host/n1/ipv4/block/10.244.1.0-26", `{"state":"confirmed","deleted":false}`)
	m.write(t, "/calico/ipam/v2/host/n1/other", `{}`)
	m.write(t, "/calico/ipam/v2/host/n2/ipv6/block/fd00::-122", `{"state":"pending","deleted":false}`)
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
