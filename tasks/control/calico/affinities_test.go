package calico

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
)

// former returns an affinity as Calico v3.28 writes it.
func former(node, cidr string) *unstructured.Unstructured {
	o := blockObjects(node, netip.MustParsePrefix(cidr))[1]
	o.SetLabels(nil)
	unstructured.RemoveNestedField(o.Object, "spec", "type")
	return o
}

// TestAffinitiesOfFormerVersions: blocks of former versions get the type and the labels of new ones, also those
// to which calico-node has given a label without a type; others stay as they are.
func TestAffinitiesOfFormerVersions(t *testing.T) {
	c := resolved(t)
	c.Versions.Calico = "v3.31.7"
	api := newFakeAPI(t, c, "m1")
	labelled, balanced := former("n2", "10.244.2.0/26"), former("load-balancer", "10.9.0.0/26")
	labelled.SetLabels(map[string]string{affinityTypeLabel: "", "projectcalico.org/ip-version": "4"})
	if err := unstructured.SetNestedField(balanced.Object, "virtual", "spec", "type"); err != nil {
		t.Fatal(err)
	}
	newest := blockObjects("n1", netip.MustParsePrefix("10.244.3.0/26"))[1]
	api.put(former("n1", "10.244.1.0/26"), former("n1", "fd00::/122"), labelled, balanced, newest)

	effects, _ := api.run(t, &Affinities{})
	if diff := cmp.Diff([]string{"BlockAffinity 10.244.1.0/26 of n1, fd00::/122 of n1, 10.244.2.0/26 of n2: set type and labels"}, effects); diff != "" {
		t.Error(diff)
	}
	for node, cidr := range map[string]string{"n1": "10.244.1.0/26", "n2": "10.244.2.0/26"} {
		want := blockObjects(node, netip.MustParsePrefix(cidr))[1]
		got := &unstructured.Unstructured{Object: api.object("BlockAffinity", want.GetName())}
		if diff := cmp.Diff(want.GetLabels(), got.GetLabels()); diff != "" {
			t.Errorf("%s: labels\n%s", want.GetName(), diff)
		}
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s:\n%s", want.GetName(), diff)
		}
	}
	if got := (&unstructured.Unstructured{Object: api.object("BlockAffinity", balanced.GetName())}).GetLabels(); len(got) > 0 {
		t.Errorf("the block of a load balancer has the labels %v", got)
	}
	if effects, _ := api.run(t, &Affinities{}); effects != nil {
		t.Errorf("again: %q", effects)
	}
}

// TestAffinitiesStay: v3.28 has no types, and etcd no labels.
func TestAffinitiesStay(t *testing.T) {
	for version, datastore := range map[string]string{"v3.28.4": cluster.DatastoreKubernetes, "v3.31.7": cluster.DatastoreEtcd} {
		c := resolvedWith(t, datastore)
		c.Versions.Calico = version
		api := newFakeAPI(t, c, "m1")
		api.Put("/apis/"+apiVersion+"/blockaffinities/n1-10-244-1-0-26", former("n1", "10.244.1.0/26").Object)
		if effects, _ := api.run(t, &Affinities{}); effects != nil {
			t.Errorf("%s, %s: %q", version, datastore, effects)
		}
	}
}
