package preflight

import (
	"context"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/report"

	"github.com/google/go-cmp/cmp"
)

// found returns the output of component_versions on a host.
func found(versions map[string]any, policies map[string]any) engine.Output {
	return engine.Output{"versions": versions, "policies": policies}
}

// withMissingImage returns an output with a component whose image is missing.
func withMissingImage(out engine.Output, component, image string) engine.Output {
	delete(out["versions"].(map[string]any), component)
	out["missing_images"] = map[string]any{component: image}
	return out
}

// TestVersionsInUse checks the versions that the report refuses, for all hosts
// together, and the commands that it recommends.
func TestVersionsInUse(t *testing.T) {
	hosts := []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}, {Name: "m2", Address: "10.0.0.2", Roles: []string{"minion"}},
		{Name: "n1", Address: "10.0.0.3", Roles: []string{"minion"}},
	}
	overrides := map[string]any{"kubelet": map[string]any{"cpuManagerPolicy": "static"}}
	master := func(version string) engine.Output {
		v := map[string]any{"etcd": "v3.6.8", "containerd": "v2.2.1", "runc": "v1.1.5+ds1"}
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"} {
			v[name] = version
		}
		return found(v, map[string]any{})
	}
	minion := func(version string) engine.Output {
		return found(map[string]any{"kubelet": version, "kube-proxy": version, "containerd": "v2.2.1"}, map[string]any{})
	}
	none := found(map[string]any{}, map[string]any{})
	for name, c := range map[string]struct {
		spec      cluster.Spec
		results   []engine.Output // of m1, m2, n1
		upgrade   bool
		inUse     bool
		want      []string // host, and a part of the row
		forbidden string
	}{
		"a new cluster":          {results: []engine.Output{none, none, none}},
		"as wanted":              {results: []engine.Output{master("v1.36.3"), minion("v1.36.3"), none}},
		"no API server anywhere": {results: []engine.Output{none, minion("v1.35.4"), none}},
		"no API server anywhere, in a restore": {inUse: true, results: []engine.Output{none, minion("v1.35.4"), minion("v1.36.3")}, want: []string{
			"m2 kubelet is v1.35.4, the inventory has v1.36.3: this is an upgrade; write the version in use into the inventory until this command has ended", "m2 kube-proxy is v1.35.4"},
			forbidden: "run: deployer upgrade"},
		"new masters and no other node, in a restore": {inUse: true, results: []engine.Output{none, none, none}},
		"as wanted, in a restore":                     {inUse: true, results: []engine.Output{none, minion("v1.36.3"), none}},
		"older": {results: []engine.Output{master("v1.35.4"), minion("v1.35.4"), minion("v1.35.4")}, want: []string{
			"m1 kube-apiserver is v1.35.4, the inventory has v1.36.3: this is an upgrade; run: deployer upgrade -i x.yaml",
			"m1 kube-controller-manager", "m1 kube-scheduler", "m1 kubelet is v1.35.4, the inventory has v1.36.3: this is an upgrade (also on m2, n1)", "m1 kube-proxy"}},
		"not in the cluster yet, in an upgrade": {upgrade: true, results: []engine.Output{master("v1.35.4"), none, none}, want: []string{
			"m2 kubelet was not found: the host is not in the cluster yet, or not with this role, and an upgrade adds no hosts (also on n1); run: deployer scale-up -i x.yaml m2 n1"}},
		"older, in an upgrade": {upgrade: true, results: []engine.Output{master("v1.35.4"), minion("v1.35.4"), minion("v1.35.4")}},
		"newer": {spec: cluster.Spec{Kubernetes: "v1.35.4"}, results: []engine.Output{master("v1.36.3"), none, none}, want: []string{
			"m1 kube-apiserver is v1.36.3, newer than v1.35.4 of the inventory: a downgrade is refused", "m1 kube-controller", "m1 kube-scheduler", "m1 kubelet", "m1 kube-proxy"},
			forbidden: "run: deployer upgrade"},
		"two minors behind, in an upgrade": {upgrade: true, results: []engine.Output{master("v1.34.1"), minion("v1.34.1"), minion("v1.34.1")},
			want: []string{"m1 kube-apiserver is v1.34.1, and v1.36.3 is more than one minor version newer: upgrade to v1.35 first"}},
		"kubelet newer than the API server": {upgrade: true, results: []engine.Output{master("v1.35.4"), minion("v1.36.3"), minion("v1.35.4")},
			want: []string{"m2 kubelet is v1.36.3, newer than an API server", "m2 kube-proxy is v1.36.3, newer"}},
		"an image that nobody has": {spec: cluster.Spec{Kubernetes: "v1.35.4"}, results: []engine.Output{withMissingImage(master("v1.35.4"), "kube-scheduler", "x/kube-scheduler:v1.36.99"), none, none}},
		"an image that nobody has, in an upgrade": {upgrade: true, results: []engine.Output{withMissingImage(master("v1.35.4"), "kube-scheduler", "x/kube-scheduler:v1.36.99"), minion("v1.35.4"), minion("v1.35.4")}, want: []string{
			"m1 the manifest of kube-scheduler names the image x/kube-scheduler:v1.36.99, which the host does not have; repair the cluster"}},
		"the image of an upgrade that did not get far": {upgrade: true, results: []engine.Output{withMissingImage(master("v1.35.4"), "kube-scheduler", "x/kube-scheduler:v1.36.3"), minion("v1.35.4"), minion("v1.35.4")}},
		"another policy": {spec: cluster.Spec{Overrides: overrides}, results: []engine.Output{master("v1.36.3"), minion("v1.36.3"), none}, want: []string{
			"m1 the kubelet's cpuManagerPolicy changes from none to static: pods must leave the node first, as in an upgrade; run: deployer upgrade", "m2 the kubelet's"}},
	} {
		resolved, err := cluster.Resolve(c.spec, hosts)
		if err != nil {
			t.Fatal(err)
		}
		s := newContext(map[string]machine{"m1": good("m1"), "m2": good("m2"), "n1": good("n1")}, nil)
		s.Provided = engine.Services{}
		engine.Provide(s.Provided, resolved)
		engine.Provide(s.Provided, Commands{Upgrade: "deployer upgrade -i x.yaml", ScaleUp: "deployer scale-up -i x.yaml"})
		for i, host := range []string{"m1", "m2", "n1"} {
			s.Results[host]["versions_found"] = c.results[i]
		}
		action := NewReport()
		action.Checks, action.Versions, action.Upgrade, action.InUse = "preflight", "versions_found", c.upgrade, c.inUse
		var got []string
		for _, r := range report.Problems(action.Gather(context.Background(), s)) {
			got = append(got, r.Host+" "+r.Detail+"; "+r.Fix)
		}
		text := strings.Join(got, "\n")
		ok := len(got) == len(c.want) && (c.forbidden == "" || !strings.Contains(text, c.forbidden))
		for _, want := range c.want {
			ok = ok && strings.Contains(text, want)
		}
		if !ok {
			t.Errorf("%s: %s", name, cmp.Diff(c.want, got))
		}
	}
}
