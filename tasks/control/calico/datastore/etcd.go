package datastore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// prefix is the beginning of the key of an object; the plural of its kind and its name follow
// (libcalico-go lib/backend/model/resource.go). The value is the object as JSON.
const prefix = "/calico/resources/v3/projectcalico.org/"

// storedVersion is the version of Calico's kinds in etcd.
const storedVersion = "projectcalico.org/v3"

// ownFields is the annotation with the fields of spec that deployer has set, so that one that the
// inventory no longer has is removed, and one of the user's stays.
const ownFields = "deployer/fields"

// inEtcd has the objects in Calico's etcd cluster, in the form in which Calico reads them.
type inEtcd struct {
	keys   *etcd.Keyspace
	client *kube.Client // knows the nodes of the cluster; nil: all nodes that Calico has belong to it
}

// InEtcd returns the store in the data of Calico's etcd cluster.
func InEtcd(keys *etcd.Keyspace) Store { return inEtcd{keys: keys} }

func openEtcd(ctx context.Context, actx engine.ActionContext, client *kube.Client) (Store, error) {
	limit := wait
	if actx.CheckOnly() {
		limit = 0
	}
	keys, err := etcd.OpenKeyspace(ctx, actx, cluster.EtcdCalico, limit)
	return inEtcd{keys, client}, err
}

// keyOf returns the key of an object without a namespace. Plurals of Calico's kinds are regular, but for
// policies, which deployer does not write.
func keyOf(kind, name string) string { return prefix + strings.ToLower(kind) + "s/" + name }

func (s inEtcd) Get(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	r, ok, err := s.keys.Get(ctx, keyOf(kind, name))
	if err != nil || !ok {
		return nil, unavailable(err)
	}
	return decode(r)
}

func (s inEtcd) List(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	records, err := s.keys.List(ctx, keyOf(kind, ""))
	if err != nil {
		return nil, unavailable(err)
	}
	var out []unstructured.Unstructured
	for _, r := range records {
		o, err := decode(r)
		if err != nil {
			return nil, err
		}
		out = append(out, *o)
	}
	return out, nil
}

func (s inEtcd) Plan(ctx context.Context, objects []*unstructured.Unstructured) ([]kube.Planned, error) {
	var plan []kube.Planned
	for _, want := range objects {
		have, err := s.Get(ctx, want.GetKind(), want.GetName())
		if err != nil {
			return nil, err
		}
		next, changed, err := merge(have, want)
		if err != nil {
			return nil, err
		}
		one := kube.Planned{Object: next, Live: have, Needed: changed}
		switch {
		case have == nil:
			one.Live, one.Effect = &unstructured.Unstructured{}, kube.ObjectEffect(kube.Describe(want), "create", "", want)
		case changed:
			one.Effect = kube.ObjectEffect(kube.Describe(want), "change", kube.Diff(have, next), want)
		}
		plan = append(plan, one)
	}
	return plan, nil
}

func (s inEtcd) Execute(ctx context.Context, plan []kube.Planned, progress func(string)) error {
	for _, p := range plan {
		if !p.Needed {
			continue
		}
		progress(p.Effect.Action + " " + p.Effect.Target)
		value, err := encode(p.Object, time.Now())
		if err != nil {
			return err
		}
		// The plan is of this revision: a change by somebody else since then fails here.
		revision, _ := strconv.ParseInt(p.Live.GetResourceVersion(), 10, 64) // 0: the object is new
		record := etcd.Record{Key: keyOf(p.Object.GetKind(), p.Object.GetName()), Value: value, Revision: revision}
		if err := s.keys.Write(ctx, record); err != nil {
			return fmt.Errorf("writing %s: %w", kube.Describe(p.Object), err)
		}
	}
	return nil
}

func (s inEtcd) Delete(ctx context.Context, kind, name string) error {
	return s.keys.Delete(ctx, keyOf(kind, name))
}

// Keys of blocks and affinities: /calico/ipam/v2/assignment/ipv4/block/10.244.0.0-26 and
// /calico/ipam/v2/host/NODE/ipv4/block/10.244.0.0-26 (libcalico-go lib/backend/model).
const (
	blocksPrefix     = "/calico/ipam/v2/assignment/"
	affinitiesPrefix = "/calico/ipam/v2/host/"
)

func (s inEtcd) Pools(ctx context.Context, visit func(Pool)) error {
	records, err := s.keys.List(ctx, keyOf("IPPool", ""))
	if err != nil {
		return unavailable(err)
	}
	for _, r := range records {
		var o struct {
			Metadata struct{ Name string }
			Spec     Pool
		}
		if err := json.Unmarshal(r.Value, &o); err != nil {
			return fmt.Errorf("the pool %s: %w", r.Key, err)
		}
		o.Spec.Name = o.Metadata.Name
		visit(o.Spec)
	}
	return nil
}

func (s inEtcd) Blocks(ctx context.Context, visit func(Block)) error {
	records, err := s.keys.List(ctx, blocksPrefix)
	if err != nil {
		return unavailable(err)
	}
	for _, r := range records {
		var b Block
		if err := json.Unmarshal(r.Value, &b); err != nil {
			return fmt.Errorf("the block %s: %w", r.Key, err)
		}
		visit(b)
	}
	return nil
}

func (s inEtcd) Affinities(ctx context.Context, visit func(Affinity)) error {
	records, err := s.keys.List(ctx, affinitiesPrefix)
	if err != nil {
		return unavailable(err)
	}
	for _, r := range records {
		a, ok := affinityOf(r.Key)
		if !ok {
			continue // another key of the node
		}
		if err := json.Unmarshal(r.Value, &a); err != nil {
			return fmt.Errorf("the affinity %s: %w", r.Key, err)
		}
		visit(a)
	}
	return nil
}

// affinityOf returns the node and the block of the key of an affinity.
func affinityOf(key string) (Affinity, bool) {
	parts := strings.Split(strings.TrimPrefix(key, affinitiesPrefix), "/") // NODE/ipv4/block/ADDRESS-BITS
	if len(parts) != 4 || parts[2] != "block" {
		return Affinity{}, false
	}
	address, bits, ok := strings.Cut(parts[3], "-")
	return Affinity{CIDR: address + "/" + bits, Node: parts[0]}, ok
}

// decode returns the object of a record, in the form of the Kubernetes API.
func decode(r etcd.Record) (*unstructured.Unstructured, error) {
	var content map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(r.Value)))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("the value of %s in %s is not JSON: %w", r.Key, cluster.EtcdCalico, err)
	}
	integers(content)
	o := &unstructured.Unstructured{Object: content}
	o.SetAPIVersion(APIVersion)
	o.SetResourceVersion(fmt.Sprint(r.Revision))
	return o, nil
}

// encode returns the value of an object, as libcalico-go writes it: with an identity and the time of its
// creation, and without the revision.
func encode(o *unstructured.Unstructured, now time.Time) ([]byte, error) {
	o = o.DeepCopy()
	o.SetAPIVersion(storedVersion)
	o.SetResourceVersion("")
	if o.GetUID() == "" {
		o.SetUID(uuid.NewUUID())
		if err := unstructured.SetNestedField(o.Object, now.UTC().Format(time.RFC3339), "metadata", "creationTimestamp"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(o.Object)
}

// unavailable marks the error of etcd without a member that serves.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
