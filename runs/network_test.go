package runs

import (
	"strings"
	"testing"

	"deployer/cluster"
	"deployer/engine"
)

// TestNetworkStateOfHosts: a host speaks for itself only and at bounded length, and the objects come from an
// action.
func TestNetworkStateOfHosts(t *testing.T) {
	t.Parallel()
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "192.0.2.2", Roles: []string{cluster.RoleMinion}},
		{Name: "n2", Address: "192.0.2.3", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	objects := func(names ...string) map[string]any {
		var nodes []any
		for _, name := range names {
			nodes = append(nodes, map[string]any{"name": name})
		}
		return map[string]any{"error": "", "nodes": nodes}
	}
	var sessions []any
	for range 2 * maxSessions {
		sessions = append(sessions, map[string]any{"name": "to_m1", "state": strings.Repeat("x", 9*maxText) + "\x1b[2J"})
	}
	s := &NetworkState{}
	emit := func(host string, action bool, out engine.Output) {
		s.Emit(engine.Event{Type: engine.EventStepEnd, Host: host, Result: &engine.Result{Output: out, OnController: action}})
	}
	emit("m1", true, engine.Output{"objects": objects("m1", "n1", "n2")})
	emit("m1", false, engine.Output{"routes_present": 2, "cni": map[string]any{"file": "10-deployer.conflist"}, "objects": objects()})
	emit("n1", false, engine.Output{"routes_present": 0, "sessions": sessions, "bird_error": "first\nsecond"})
	emit("n1", false, engine.Output{"paths": "of another task"})
	got := s.Compare(c, &engine.Report{Hosts: []engine.HostReport{{Host: "n2", Unreachable: true, Failure: &engine.Failure{Message: "timed\tout"}}}})
	if len(got.Hosts) != 3 || got.Hosts[0].Routes.Present != 2 {
		t.Errorf("%+v", got.Hosts)
	}
	if n := len(got.Hosts[1].Sessions[0].State); n > maxText+3 || strings.Contains(got.Hosts[1].Sessions[0].State, "\x1b") {
		t.Errorf("a text of %d bytes", n)
	}
	var texts []string
	for _, p := range got.Problems {
		texts = append(texts, p.Host+" "+p.Check+": "+p.Detail)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"n1 BIRD: first; no session with it: m1", "n2 host: timed out; no session with it: m1"} {
		if !strings.Contains(all, want) {
			t.Errorf("no problem %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "not in the cluster") {
		t.Errorf("a host has told of objects:\n%s", all)
	}
}
