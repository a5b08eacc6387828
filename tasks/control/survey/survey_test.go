package survey_test

import (
	"errors"
	"strings"
	"testing"

	"context"

	"deployer/cluster"
	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/survey"
)

func action() *survey.Survey {
	return &survey.Survey{Kubelet: "kubelet", Etcd: "etcd", APIServer: "apiserver", Authorities: "authorities", Restore: "restore", Proxy: "proxy", Versions: "versions"}
}

// newContext returns the context of a cluster of one master and one minion that have
// registered the state of a kubelet, and whose keys cannot be read.
func newContext(t *testing.T, found *compare.Observed) *actiontest.Context {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "192.0.2.2", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	exists := engine.Output{"exists": true}
	s := &actiontest.Context{Name: "m1", Hosts: []string{"m1", "n1"}, Provided: engine.Services{},
		Results: map[string]map[string]engine.Output{
			"m1": {"kubelet": exists, "etcd": exists, "apiserver": exists, "authorities": exists, "restore": exists, "proxy": {"skipped": true, "exists": true},
				"versions": {"versions": map[string]any{"etcd": "v3.6.8"}}},
			"n1": {"kubelet": {"exists": false}},
		},
		RunFunc: func(context.Context, string, string, engine.Module) (engine.Result, error) {
			return engine.Result{}, errors.New("cable cut")
		},
	}
	ring := &keyring.Keyring{}
	engine.Provide(s.Provided, c)
	engine.Provide(s.Provided, ring)
	engine.Provide(s.Provided, kube.NewAccess(ring))
	if found != nil {
		engine.Provide(s.Provided, found)
	}
	return s
}

func TestSurveyWithoutKeysIsAFinding(t *testing.T) {
	var found compare.Observed
	if _, err := action().Check(t.Context(), newContext(t, &found)); err != nil {
		t.Fatal(err)
	}
	if found.Etcd != nil || !strings.Contains(found.EtcdError, "cable cut") || !strings.Contains(found.APIError, "cable cut") {
		t.Errorf("etcd %v (%s), API %s", found.Etcd, found.EtcdError, found.APIError)
	}
	want := map[string]compare.Host{
		"m1": {HasKubelet: true, HasEtcdData: true, HasAPIServer: true, HoldsAuthorities: true, RestoringEtcd: true},
		"n1": {},
	}
	for name, h := range want {
		got := found.Hosts[name]
		if got.HasKubelet != h.HasKubelet || got.HasEtcdData != h.HasEtcdData || got.HasAPIServer != h.HasAPIServer ||
			got.HoldsAuthorities != h.HoldsAuthorities || got.HasProxyUnit != h.HasProxyUnit || got.RestoringEtcd != h.RestoringEtcd {
			t.Errorf("%s: %+v, not %+v", name, got, h)
		}
	}
	if got := found.Hosts["m1"].Versions; len(got) != 1 || got[0] != (cluster.Running{Host: "m1", Component: "etcd", Version: "v3.6.8"}) {
		t.Errorf("versions of m1: %v", got)
	}
	if len(found.Hosts) != len(want) {
		t.Errorf("%d hosts, not %d", len(found.Hosts), len(want))
	}
}

func TestSurveyNeedsItsService(t *testing.T) {
	if _, err := action().Check(t.Context(), newContext(t, nil)); err == nil {
		t.Error("a run without a survey's result passes")
	}
}
