package addons

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/tasks/control/kube"
)

// Addon is an add-on as it is applied.
type Addon struct {
	Name      string
	Order     int    // place in the inventory, from 0
	Namespace string // of objects that name none
	Network   bool   // the add-on is the pod network
	Wait      bool   // a run waits for its rollout
	Timeout   time.Duration
	Objects   []*unstructured.Unstructured // in the order of their application
	Hooks     []Hook                       // of a chart
	Delivered []Image                      // images that deployer imports on nodes
	Digest    string                       // of all that is applied, as hex
	Sources   string                       // of the files that it was made of, as hex
	// Unfetched is true when the chart must be fetched first. The add-on has no objects then.
	Unfetched bool
}

// Set is all add-ons of a cluster, in the order of the inventory.
type Set []*Addon

// Find returns the add-on with a name; nil for none.
func (s Set) Find(name string) *Addon {
	for _, a := range s {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Unfetched reports whether charts must be fetched and the add-ons read again.
func (s Set) Unfetched() bool {
	return slices.ContainsFunc(s, func(a *Addon) bool { return a.Unfetched })
}

// SpecError is an error about one add-on.
type SpecError struct {
	Index int // in cluster.addons
	Name  string
	Err   error
}

func (e *SpecError) Error() string { return fmt.Sprintf("add-on %q: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *SpecError) Unwrap() error { return e.Err }

// Read reads and renders add-ons for a version of Kubernetes. Its errors are *SpecError, joined.
func Read(specs []cluster.AddonSpec, kubernetes string, files Files) (Set, error) {
	target := Target{Kubernetes: kubernetes}
	var set Set
	var errs []error
	owners := map[string]string{} // name of the add-on by object
	for i, spec := range specs {
		a, err := read(spec, target, files)
		if err == nil {
			err = a.claim(owners)
		}
		if err != nil {
			errs = append(errs, &SpecError{i, spec.Name, err})
			continue
		}
		a.Order = i
		set = append(set, a)
		target.APIVersions = append(target.APIVersions, a.definedVersions()...)
	}
	return set, errors.Join(errs...)
}

func read(spec cluster.AddonSpec, target Target, files Files) (*Addon, error) {
	r := newReader(files)
	a := &Addon{Name: spec.Name, Namespace: spec.Namespace, Network: spec.Network, Wait: *spec.Wait, Timeout: spec.Timeout}
	objects, hooks, err := readObjects(r, spec, target)
	if errors.Is(err, ErrUnfetched) {
		a.Unfetched, a.Sources = true, r.digest()
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, errors.New("its files contain no object")
	}
	sortObjects(objects)
	a.Objects, a.Hooks, a.Sources = objects, hooks, r.digest()
	if spec.Images == cluster.ImagesDeliver {
		if a.Delivered, err = a.images(); err != nil {
			return nil, err
		}
	}
	a.Digest, err = a.digest()
	return a, err
}

func readObjects(r *reader, spec cluster.AddonSpec, target Target) (objects []*unstructured.Unstructured, hooks []Hook, err error) {
	switch {
	case spec.Chart != "":
		return readChart(r, spec, target)
	case spec.Kustomize != "":
		objects, err = readKustomization(r, spec.Kustomize)
	default:
		objects, err = readManifests(r, spec.Manifests)
	}
	return objects, nil, err
}

// definedVersions returns the versions of the API that the add-on defines.
func (a *Addon) definedVersions() []string {
	var out []string
	for _, o := range a.Objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name, _ := version["name"].(string)
			out = append(out, group+"/"+name, group+"/"+name+"/"+kind)
		}
	}
	return out
}

// claim makes the add-on the owner of its objects. An object that has an owner is an error.
func (a *Addon) claim(owners map[string]string) error {
	for _, o := range a.Objects {
		key := kube.Identity(a.inNamespace(o))
		switch owner, taken := owners[key]; {
		case taken && owner == a.Name:
			return fmt.Errorf("%s is in its files twice: remove one", kube.Describe(o))
		case taken:
			return fmt.Errorf("%s is an object of add-on %q, too: remove one of them", kube.Describe(o), owner)
		}
		owners[key] = a.Name
	}
	return nil
}

// inNamespace returns the kind and name of an object as it is in the cluster, as far as that is
// known without the API.
func (a *Addon) inNamespace(o *unstructured.Unstructured) *unstructured.Unstructured {
	key := &unstructured.Unstructured{}
	key.SetGroupVersionKind(o.GroupVersionKind())
	key.SetName(o.GetName())
	if kube.ScopeOf(o.GroupVersionKind(), a.Objects) != kube.ScopeCluster {
		key.SetNamespace(cmp.Or(o.GetNamespace(), a.Namespace))
	}
	return key
}

func (a *Addon) digest() (string, error) {
	content, err := json.Marshal(struct {
		Namespace string
		Objects   []*unstructured.Unstructured
		Hooks     []Hook
	}{a.Namespace, a.Objects, a.Hooks})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
