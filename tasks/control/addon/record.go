package addon

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/addons"
	"deployer/tasks/control/kube"
)

// The labels of objects and of records; the value is the name of the add-on.
const (
	labelAddon  = "deployer/addon"
	labelRecord = "deployer/addon-record"
)

// recordNamespace is the namespace of the records.
const recordNamespace = "kube-system"

// The states of an add-on.
const (
	stateApplying = "applying" // a run has begun to apply it
	stateApplied  = "applied"
)

// record is what the cluster knows about an add-on.
type record struct {
	name   string
	Order  int      `json:"order"` // place in the inventory: add-ons are removed in the opposite order
	State  string   `json:"state"`
	Digest string   `json:"digest"` // of what was applied last
	Refs   []objRef `json:"objects"`
	// Hooks run when the inventory no longer has the add-on, each for at most Timeout.
	Hooks   []addons.Hook `json:"hooks,omitempty"`
	Timeout time.Duration `json:"timeout"`
}

// objRef identifies an object in the cluster.
type objRef struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func refOf(o *unstructured.Unstructured) objRef {
	gvk := o.GroupVersionKind()
	return objRef{gvk.Group, gvk.Version, gvk.Kind, o.GetNamespace(), o.GetName()}
}

func (r objRef) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// object returns an object with kind and name only.
func (r objRef) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(r.kind())
	o.SetNamespace(r.Namespace)
	o.SetName(r.Name)
	return o
}

// with returns the record with further objects, for a run that begins.
func (r *record) with(objects []*unstructured.Unstructured) *record {
	out := &record{name: r.name, Order: r.Order, State: stateApplying, Digest: r.Digest, Refs: slices.Clone(r.Refs), Hooks: r.Hooks, Timeout: r.Timeout}
	known := map[string]bool{}
	for _, ref := range r.Refs {
		known[kube.Identity(ref.object())] = true
	}
	for _, o := range objects {
		if !known[kube.Identity(o)] {
			out.Refs = append(out.Refs, refOf(o))
		}
	}
	return out
}

// readRecord returns the record of an add-on; one without a state when the cluster has none.
func readRecord(ctx context.Context, c *kube.Client, name string) (*record, error) {
	o, err := c.Get(ctx, kube.SecretKind(), recordNamespace, secretName(name))
	if apierrors.IsNotFound(err) {
		return &record{name: name}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the record of add-on %s: %w", name, err)
	}
	return decodeRecord(name, o)
}

// listRecords returns the records of all add-ons, the last of the inventory first: later ones may
// need those before them, as objects of a kind need the program that handles it.
func listRecords(ctx context.Context, c *kube.Client) ([]*record, error) {
	secrets, err := c.List(ctx, kube.SecretKind(), recordNamespace, v1.ListOptions{LabelSelector: labelRecord})
	if err != nil {
		return nil, fmt.Errorf("listing the records of add-ons: %w", err)
	}
	var out []*record
	for i := range secrets {
		r, err := decodeRecord(secrets[i].GetLabels()[labelRecord], &secrets[i])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *record) int { return b.Order - a.Order })
	return out, nil
}

func secretName(addon string) string { return "deployer.addon." + addon }

// maxRecord is the maximum size of a record in bytes, unpacked. A Secret has 1 MiB, packed.
const maxRecord = 32 << 20

func decodeRecord(name string, o *unstructured.Unstructured) (*record, error) {
	fail := func(err error) (*record, error) {
		return nil, fmt.Errorf("reading the record of add-on %s, Secret %s/%s: %w; delete the Secret to have the add-on applied as a new one", name, recordNamespace, o.GetName(), err)
	}
	text, _, err := unstructured.NestedString(o.Object, "data", "record")
	if err != nil {
		return fail(err)
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fail(err)
	}
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fail(err)
	}
	r := &record{name: name}
	if err := json.NewDecoder(io.LimitReader(unpack, maxRecord)).Decode(r); err != nil {
		return fail(err)
	}
	return r, nil
}

// write stores a record.
func (r *record) write(ctx context.Context, c *kube.Client) error {
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	if err := json.NewEncoder(pack).Encode(r); err != nil {
		return err
	}
	if err := pack.Close(); err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "deployer/addon",
		"metadata": map[string]any{"name": secretName(r.name), "namespace": recordNamespace, "labels": map[string]any{labelRecord: r.name}},
		"data":     map[string]any{"record": base64.StdEncoding.EncodeToString(packed.Bytes())},
	}}
	if _, err := c.Apply(ctx, o, kube.Manager, true, false); err != nil {
		return fmt.Errorf("writing the record of add-on %s: %w", r.name, err)
	}
	return nil
}

// remove deletes a record.
func (r *record) remove(ctx context.Context, c *kube.Client) error {
	if err := c.Delete(ctx, kube.SecretKind(), recordNamespace, secretName(r.name), -1); err != nil {
		return fmt.Errorf("removing the record of add-on %s: %w", r.name, err)
	}
	return nil
}
