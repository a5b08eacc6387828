package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// TestAdmissionPlugins: overrides add admission plugins; a default plugin is removed
// only by its name in disable-admission-plugins.
func TestAdmissionPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		extra map[string]any
		want  string
	}{
		"default":                {nil, "NodeRestriction,DenyServiceExternalIPs"},
		"further plugin":         {map[string]any{"enable-admission-plugins": "AlwaysPullImages"}, "NodeRestriction,DenyServiceExternalIPs,AlwaysPullImages"},
		"plugins with spaces":    {map[string]any{"enable-admission-plugins": "A, NodeRestriction"}, "NodeRestriction,DenyServiceExternalIPs,A"},
		"list":                   {map[string]any{"enable-admission-plugins": []any{"A", "B,C"}}, "NodeRestriction,DenyServiceExternalIPs,A,B,C"},
		"empty":                  {map[string]any{"enable-admission-plugins": ""}, "NodeRestriction,DenyServiceExternalIPs"},
		"null":                   {map[string]any{"enable-admission-plugins": nil}, "NodeRestriction,DenyServiceExternalIPs"},
		"one disabled":           {map[string]any{"disable-admission-plugins": "DenyServiceExternalIPs"}, "NodeRestriction"},
		"disabled and asked for": {map[string]any{"enable-admission-plugins": "A", "disable-admission-plugins": []any{"A"}}, "NodeRestriction,DenyServiceExternalIPs"},
	} {
		spec := cluster.Spec{}
		if c.extra != nil {
			spec.Overrides = map[string]any{"apiserver": map[string]any{"extra_args": c.extra}}
		}
		var got []string
		for _, arg := range mustResolve(t, spec, masters(1)).Nodes["m1"].Args.APIServer {
			if value, is := strings.CutPrefix(arg, "--enable-admission-plugins="); is {
				got = append(got, value)
			}
		}
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s: --enable-admission-plugins (-want +got):\n%s", name, diff)
		}
	}
}

func TestPodSecurity(t *testing.T) {
	levels := func(spec cluster.PodSecuritySpec) map[string]any {
		for _, f := range mustResolve(t, cluster.Spec{API: cluster.APISpec{PodSecurity: spec}}, masters(1)).Nodes["m1"].APIServerFiles {
			if f.Value["kind"] == "AdmissionConfiguration" {
				return f.Value["plugins"].([]any)[0].(map[string]any)["configuration"].(map[string]any)
			}
		}
		t.Fatal("no AdmissionConfiguration is among the files of the API server")
		return nil
	}
	for name, c := range map[string]struct {
		spec       cluster.PodSecuritySpec
		enforce    string
		namespaces []any
	}{
		"default": {cluster.PodSecuritySpec{}, "baseline", []any{"kube-system"}},
		"own":     {cluster.PodSecuritySpec{Enforce: "restricted", ExemptNamespaces: []string{"storage", "kube-system"}}, "restricted", []any{"kube-system", "storage"}},
	} {
		got := levels(c.spec)
		want := map[string]any{"enforce": c.enforce, "enforce-version": "latest", "audit": "restricted", "audit-version": "latest", "warn": "restricted", "warn-version": "latest"}
		if diff := cmp.Diff(want, got["defaults"]); diff != "" {
			t.Errorf("%s: defaults (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]any{"namespaces": c.namespaces}, got["exemptions"]); diff != "" {
			t.Errorf("%s: exemptions (-want +got):\n%s", name, diff)
		}
	}
}
