package upgrade

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"

	"github.com/google/go-cmp/cmp"
)

// newContext returns a run on m1 and n1, whose components have the given version.
func newContext(t *testing.T, version string) *actiontest.Context {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}, {Name: "n1", Address: "10.0.0.2", Roles: []string{"minion"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &actiontest.Context{Name: "n1", Hosts: []string{"m1", "n1"}, Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
	engine.Provide(s.Provided, c)
	for host, versions := range map[string]map[string]any{
		"m1": {"etcd": "v3.6.8", "kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": version, "kubelet": version, "kube-proxy": version, "containerd": "v2.2.1"},
		"n1": {"kubelet": version, "kube-proxy": version, "containerd": "v2.2.0", "runc": "v1.3.3+ds1"},
	} {
		s.Results[host] = map[string]engine.Output{"found": {"versions": versions, "policies": map[string]any{}}}
	}
	return s
}

func TestChanges(t *testing.T) {
	for version, want := range map[string][]string{
		"v1.36.3": {"n1 containerd"},
		"v1.36.1": {"m1 kube-apiserver", "m1 kube-controller-manager", "m1 kube-scheduler", "m1 kubelet", "m1 kube-proxy", "n1 containerd", "n1 kubelet", "n1 kube-proxy"},
	} {
		change, err := (&Changes{Found: "found"}).Check(t.Context(), newContext(t, version))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range change.Output["changes"].([]any) {
			m := one.(map[string]any)
			got = append(got, m["host"].(string)+" "+m["component"].(string))
		}
		if diff := cmp.Diff(want, got); diff != "" || change.Output["any"] != true || len(change.Output["irreversible"].([]any)) > 0 {
			t.Errorf("%s: %v %s", version, change.Output["irreversible"], diff)
		}
	}
	change, err := (&Changes{Found: "found", Only: []string{"kube-apiserver"}}).Check(t.Context(), newContext(t, "v1.35.4"))
	if err != nil || len(change.Output["changes"].([]any)) != 1 {
		t.Errorf("%v, %v", change.Output, err)
	}
	if diff := cmp.Diff([]any{"kube-apiserver of m1: v1.35.4 to v1.36.3"}, change.Output["irreversible"]); diff != "" {
		t.Error(diff)
	}
}

// TestChangesOfEtcd checks which upgrades change etcd's minor version, and in which of them the
// member of a host is repaired because it has its version already.
func TestChangesOfEtcd(t *testing.T) {
	for name, c := range map[string]struct {
		found   string
		only    []string
		minor   bool
		repairs []any
	}{
		"another minor version":   {"v3.5.26", nil, true, []any{}},
		"another patch release":   {"v3.6.7", nil, false, []any{}},
		"the version it has":      {"v3.6.8", nil, false, []any{"m1"}},
		"etcd is not upgraded":    {"v3.6.8", []string{"kubelet"}, false, []any{}},
		"only etcd is upgraded":   {"v3.6.8", []string{"etcd"}, false, []any{"m1"}},
		"its upgrade is left out": {"v3.5.26", []string{"kubelet"}, false, []any{}},
	} {
		s := newContext(t, "v1.36.3")
		s.Results["m1"]["found"]["versions"].(map[string]any)["etcd"] = c.found
		change, err := (&Changes{Found: "found", Only: c.only}).Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.repairs, change.Output["etcd_repairs"]); diff != "" || change.Output["etcd_minor"] != c.minor {
			t.Errorf("%s: minor %v, %s", name, change.Output["etcd_minor"], diff)
		}
	}
}

// TestNodeWork checks the values that are read from the API, and the effect of the
// flag --drain on them.
func TestNodeWork(t *testing.T) {
	api := &kubetest.API{}
	api.Put("/api/v1/nodes/n1", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}})
	pod := func(name string, spec map[string]any) {
		spec["nodeName"] = "n1"
		api.Put("/api/v1/namespaces/default/pods/"+name, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "default"}, "spec": spec})
	}
	ports := []any{map[string]any{"name": "c", "ports": []any{map[string]any{"containerPort": 80, "hostPort": 80}}}}
	pod("plain", map[string]any{"containers": []any{map[string]any{"name": "c"}}})
	pod("ingress", map[string]any{"containers": ports})
	pod("host", map[string]any{"containers": ports, "hostNetwork": true})
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	policy := cluster.PolicyChange{Key: "cpuManagerPolicy", From: "none", To: "static"}
	for name, c := range map[string]struct {
		action    NodeWork
		version   string
		policies  []cluster.PolicyChange
		intrusive bool
		reason    string
	}{
		"runtime under a host port":      {NodeWork{}, "v1.36.3", nil, true, "containerd changes from v2.2.0 to v2.2.1 under pods with host ports: default/ingress; runc changes from 1.3.3 to 1.3.4"},
		"kubelet minor":                  {NodeWork{Only: []string{"kubelet"}}, "v1.35.4", nil, true, "kubelet changes from v1.35.4 to v1.36.3"},
		"kubelet patch":                  {NodeWork{Only: []string{"kubelet"}}, "v1.36.1", nil, false, ""},
		"kubelet patch, always":          {NodeWork{Only: []string{"kubelet"}, Drain: DrainAlways}, "v1.36.1", nil, true, ""},
		"kubelet minor, never":           {NodeWork{Only: []string{"kubelet"}, Drain: DrainNever}, "v1.35.4", nil, false, "kubelet changes"},
		"kubelet minor, only kube-proxy": {NodeWork{Only: []string{"kube-proxy"}}, "v1.35.4", nil, false, ""},
		"a policy":                       {NodeWork{Only: []string{"kubelet"}}, "v1.36.3", []cluster.PolicyChange{policy}, true, "cpuManagerPolicy changes from none to static"},
	} {
		s, action := newContext(t, c.version), c.action
		action.Found = "found"
		want, _ := engine.Service[*cluster.Cluster](s.Provided)
		work := cluster.NodeWork{Changes: action.changes(s, want, want.Nodes["n1"]), Policies: c.policies}
		if err := look(t.Context(), client, "n1", &work); err != nil {
			t.Fatal(err)
		}
		change, err := action.decide(work)
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for _, r := range change.Output["reasons"].([]any) {
			reasons = append(reasons, r.(string))
		}
		text := strings.Join(reasons, "; ")
		if change.Output["intrusive"] != c.intrusive || (text == "") != (c.reason == "") || !strings.Contains(text, c.reason) {
			t.Errorf("%s: %v", name, change.Output)
		}
		if files := change.Output["state_files"].([]any); len(files) != len(c.policies) || len(files) > 0 && !slices.Contains(files, any("/var/lib/kubelet/cpu_manager_state")) {
			t.Errorf("%s: state files %v", name, files)
		}
	}
	_, err = (&NodeWork{Drain: DrainNever}).decide(cluster.NodeWork{Policies: []cluster.PolicyChange{policy}})
	if err == nil || !strings.Contains(err.Error(), "needs a node without its pods") {
		t.Errorf("a policy without a drain: %v", err)
	}
}

// TestNodeWorkWithoutAPI: work that never drains is decided without an API server, so that
// a rollback reaches a cluster of which none answers.
func TestNodeWorkWithoutAPI(t *testing.T) {
	actx := newContext(t, "v1.35.4") // no client is provided
	change, err := (&NodeWork{Found: "found", Drain: DrainNever}).Check(t.Context(), actx)
	if err != nil || change.Output["intrusive"] != false {
		t.Errorf("never: %v, %v", change.Output, err)
	}
	if _, err := (&NodeWork{Found: "found"}).Check(t.Context(), actx); err == nil {
		t.Error("auto needs the API, and has found work without it")
	}
}
