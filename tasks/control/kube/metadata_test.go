package kube

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube/kubetest"
)

func TestNamedResources(t *testing.T) {
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		answers := map[string]string{
			"/apis":                     `{"groups":[{"name":"apps","preferredVersion":{"version":"v1"}},{"name":"example.org","preferredVersion":{"version":"v1beta1"}}]}`,
			"/api/v1":                   `{"resources":[{"name":"secrets","verbs":["list","patch"]},{"name":"secrets/status","verbs":["list","patch"]},{"name":"bindings","verbs":["create"]}]}`,
			"/apis/apps/v1":             `{"resources":[{"name":"deployments","verbs":["list","patch"]},{"name":"daemonsets","verbs":["list","patch"]}]}`,
			"/apis/example.org/v1beta1": `{"resources":[{"name":"widgets","verbs":["list","patch"]}]}`,
		}
		_, _ = fmt.Fprint(w, answers[r.URL.Path])
		return answers[r.URL.Path] != ""
	}}
	client := serve(t, api)
	for _, c := range []struct{ names, want []string }{
		{[]string{"secrets"}, []string{"secrets"}},
		{[]string{"configmaps"}, nil},
		{[]string{"*."}, []string{"secrets"}},
		{[]string{"secrets", "widgets.example.org", "deployments.apps"}, []string{"deployments.apps", "secrets", "widgets.example.org"}},
		{[]string{"*.apps"}, []string{"daemonsets.apps", "deployments.apps"}},
		{[]string{"*.*"}, []string{"daemonsets.apps", "deployments.apps", "secrets", "widgets.example.org"}},
	} {
		found, err := client.NamedResources(t.Context(), c.names)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range found {
			got = append(got, r.GroupResource().String())
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.names, diff)
		}
	}
}

// TestEachObjectReadsAllPages lists objects in pages, one of which expires.
func TestEachObjectReadsAllPages(t *testing.T) {
	expired := 0
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		switch at := r.URL.Query().Get("continue"); {
		case at == "":
			_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":"2"},"items":[{"metadata":{"name":"a","namespace":"x"}}]}`)
		case expired == 0:
			expired++
			w.WriteHeader(http.StatusGone)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		default:
			_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[{"metadata":{"name":"b"}}]}`)
		}
		return true
	}}
	var got []string
	err := serve(t, api).EachObject(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, func(o *v1.PartialObjectMetadata) error {
		got = append(got, o.Namespace+"/"+o.Name)
		return nil
	})
	if diff := cmp.Diff([]string{"x/a", "x/a", "/b"}, got); diff != "" || err != nil {
		t.Errorf("error %v, objects (-want +got): %s", err, diff)
	}
}
