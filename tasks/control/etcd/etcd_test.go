package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/report"
	"deployer/tasks/stat"
)

func silent(string) {}

func TestSurveyReturnsMembersAndHealth(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m2"] = false
	s := Take(context.Background(), f.open, hostsOf("m1", "m2", "m3"))
	live := s.Live()
	var got []string
	for _, m := range live.Members {
		if m.Healthy {
			got = append(got, m.Name)
		}
	}
	if diff := cmp.Diff([]string{"m1", "m3"}, got); diff != "" || live.ClusterID != 7 || len(live.Members) != 3 {
		t.Errorf("%+v", live)
	}
	f.up["m3"] = false
	if live := Take(context.Background(), f.open, hostsOf("m1", "m2", "m3")).Live(); live != nil {
		t.Errorf("one member of three has a quorum: %+v", live)
	}
}

func TestSurveyIncludesMembersOutsideOfTheRun(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	s := Take(context.Background(), f.open, hostsOf("m2"))
	for _, m := range s.Live().Members {
		if !m.Healthy {
			t.Errorf("%s counts as broken", m.Name)
		}
	}
}

func TestJudge(t *testing.T) {
	hosts := hostsOf("m1", "m2", "m3")
	for _, c := range []struct {
		name   string
		change func(*fake)
		ok     bool
		want   string
	}{
		{"all well", func(*fake) {}, true, "etcd 3.6.8, 3 of 3 members, leader m1"},
		{"another is down", func(f *fake) { f.up["m3"] = false }, true, "etcd 3.6.8, 2 of 3 members, leader m1"},
		{"down", func(f *fake) { f.up["m2"] = false }, false, "etcd on m2 does not answer: connection refused"},
		{"no majority", func(f *fake) { f.up["m1"], f.up["m3"] = false, false }, false, "etcd on m2: it serves no linearizable read: etcdserver: no leader"},
		{"two leaders", func(f *fake) { f.leaders["m3"] = 3 }, false, "m2 and m3 follow different etcd leaders (1 and 3)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake("m1", "m2", "m3")
			c.change(f)
			got := Judge(Take(context.Background(), f.open, hosts), hosts[1])
			if got.OK != c.ok || got.Text != c.want {
				t.Errorf("got %+v, want %v %q", got, c.ok, c.want)
			}
		})
	}
}

func TestNewMemberIsPromotedAfterItHasCaughtUp(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.behind = 2
	hosts := hostsOf("m1", "m2", "m3", "m4")
	ctx := context.Background()
	live, err := Add(ctx, f.open, hosts, hosts[3], 0, 5*time.Second, silent)
	if err != nil {
		t.Fatal(err)
	}
	if got := live.InitialCluster(cluster.EtcdProbe{Name: "m4", PeerURL: peer("m4")}); !strings.Contains(got, "m4="+peer("m4")) || strings.Count(got, "=") != 4 {
		t.Errorf("initial cluster %q", got)
	}
	if _, err := Add(ctx, f.open, hosts, hosts[3], 0, 5*time.Second, silent); err != nil {
		t.Errorf("adding it again: %v", err)
	}
	f.start("m4")
	state, err := WaitHealthy(ctx, f.open, hosts, hosts[3], time.Second, silent)
	if err != nil || !state.Learner {
		t.Fatalf("as a learner: %+v, %v", state, err)
	}
	if err := Promote(ctx, f.open, hosts, hosts[3], 5*time.Second, silent); err != nil {
		t.Fatal(err)
	}
	if err := Promote(ctx, f.open, hosts, hosts[3], time.Second, silent); err != nil {
		t.Errorf("promoting it again: %v", err)
	}
	if diff := cmp.Diff([]string{"add " + peer("m4"), "promote 65"}, f.done); diff != "" || f.worst != "" {
		t.Errorf("%s %s", diff, f.worst)
	}
}

func TestLostMemberIsReplaced(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m3"] = false
	hosts := hostsOf("m1", "m2", "m3")
	if _, err := Add(context.Background(), f.open, hosts, hosts[2], 3, 5*time.Second, silent); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"remove 3", "add " + peer("m3")}, f.done); diff != "" || f.worst != "" {
		t.Errorf("%s %s", diff, f.worst)
	}
}

func TestMembershipIsUnchangedWhileTheQuorumIsAtRisk(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m2"] = false
	hosts := hostsOf("m1", "m2", "m3", "m4")
	_, err := Add(context.Background(), f.open, hosts, hosts[3], 1, 700*time.Millisecond, silent)
	if err == nil || len(f.done) != 0 {
		t.Errorf("did %v, %v", f.done, err)
	}
	go func() {
		time.Sleep(300 * time.Millisecond)
		f.start("m2")
	}()
	if _, err := Add(context.Background(), f.open, hosts, hosts[3], 0, 10*time.Second, silent); err != nil || f.worst != "" {
		t.Errorf("after it came back: %v %s", err, f.worst)
	}
}

func TestTimeoutErrorContainsTheLastState(t *testing.T) {
	f := newFake("m1")
	f.up["m1"] = false
	hosts := hostsOf("m1")
	_, err := WaitHealthy(context.Background(), f.open, hosts, hosts[0], 100*time.Millisecond, silent)
	if err == nil || err.Error() != "timeout after 100ms: etcd on m1 does not answer: connection refused" {
		t.Errorf("got %v", err)
	}
}

// run returns the context of an action on host, in a cluster of three masters with
// the fake etcd f.
func run(t *testing.T, f *fake, host string, data map[string]bool) *actiontest.Context {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{Name: "test"}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}},
		{Name: "m2", Address: "10.0.0.2", Roles: []string{cluster.RoleMaster}},
		{Name: "m3", Address: "10.0.0.3", Roles: []string{cluster.RoleMaster}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &actiontest.Context{Name: host, Hosts: []string{"m1", "m2", "m3"}, Provided: engine.Services{}, Results: map[string]map[string]engine.Output{}}
	engine.Provide(s.Provided, c)
	engine.Provide(s.Provided, Opener(f.open))
	for name, has := range data {
		s.Results[name] = map[string]engine.Output{"found": {"exists": has}}
	}
	return s
}

func actions(out engine.Output) map[string]string {
	got := map[string]string{}
	for name, step := range out["hosts"].(map[string]any) {
		got[name] = step.(map[string]any)["action"].(string)
	}
	return got
}

func TestPlanOfANewCluster(t *testing.T) {
	s := run(t, newFake(), "m1", map[string]bool{"m1": false, "m2": false, "m3": false})
	change, err := (&Plan{Found: "found"}).Check(context.Background(), s)
	if err != nil || change.Needed {
		t.Fatalf("%+v %v", change, err)
	}
	out := change.Output
	if diff := cmp.Diff(map[string]string{"m1": "bootstrap", "m2": "bootstrap", "m3": "bootstrap"}, actions(out)); diff != "" {
		t.Error(diff)
	}
	if out["bootstrap"] != true || strings.Count(out["initial_cluster"].(string), "=") != 3 {
		t.Errorf("%v", out)
	}
}

// TestPlanWithMissingProbes: a host in the run without a registered probe may have data,
// so the plan fails.
func TestPlanWithMissingProbes(t *testing.T) {
	for name, tt := range map[string]struct {
		of   engine.Output
		want string
	}{
		"not registered": {nil, `deciding about etcd: m3 did not report whether etcd has data ("found")`},
		"skipped":        {engine.Output{"skipped": true}, "m3 did not report"},
		"failed":         {engine.Output{"failed": true}, "m3 did not report"},
		"registered":     {engine.Output{"exists": false}, ""},
	} {
		s := run(t, newFake(), "m1", map[string]bool{"m1": false, "m2": false})
		s.Results["m3"] = map[string]engine.Output{"found": tt.of}
		_, err := (&Plan{Found: "found"}).Check(t.Context(), s)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlanRefusesANewClusterInPlaceOfAnExistingOne(t *testing.T) {
	s := run(t, newFake(), "m1", map[string]bool{"m1": false, "m2": false, "m3": false})
	s.RunFunc = func(_ context.Context, host, module string, _ engine.Module) (engine.Result, error) {
		return engine.Result{Output: engine.Output{"exists": host == "m2" && module == "stat"}}, nil
	}
	_, err := (&Plan{Found: "found"}).Check(context.Background(), s)
	if err == nil || !strings.Contains(err.Error(), "etcd must not be touched on m1, m2, m3: m2 shows that the cluster has worked before") {
		t.Errorf("got %v", err)
	}
}

// TestDedicatedHostsWithoutMasters: after a reset of all masters and a power cut, the mark of
// the etcd hosts is the proof that the one without data must not start empty.
func TestDedicatedHostsWithoutMasters(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file      string
		bootstrap bool
		action    string // of the host without data
	}{
		"no proof":               {"/none", true, cluster.EtcdBootstrap},
		"the mark of a member":   {"/etc/deployer/etcd-member", true, cluster.EtcdRefuse},
		"an API server's record": {"/etc/kubernetes/manifests/kube-apiserver.yaml", true, cluster.EtcdRefuse},
	} {
		s := run(t, newFake(), "m1", map[string]bool{"m1": true, "m2": true, "m3": false})
		s.RunFunc = func(_ context.Context, host, _ string, args engine.Module) (engine.Result, error) {
			look, ok := args.(*stat.Stat)
			return engine.Result{Output: engine.Output{"exists": ok && host == "m2" && look.Path == tt.file}}, nil
		}
		change, err := (&Plan{Found: "found"}).Check(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := actions(change.Output)["m3"]; got != tt.action || change.Output["bootstrap"] != tt.bootstrap {
			t.Errorf("%s: m3 has the action %q, want %q", name, got, tt.action)
		}
	}
}

func TestHostThatLostItsDataRejoins(t *testing.T) {
	ctx := context.Background()
	f := newFake("m1", "m2", "m3")
	f.up["m3"] = false
	s := run(t, f, "m3", map[string]bool{"m1": true, "m2": true, "m3": false})
	plan, err := (&Plan{Found: "found"}).Check(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"m1": "member", "m2": "member", "m3": "replace"}, actions(plan.Output)); diff != "" {
		t.Fatal(diff)
	}
	s.Results["m3"]["plan"] = plan.Output
	add := NewAddMember()
	add.Plan, add.Timeout = "plan", 5*time.Second
	change, err := add.Check(ctx, s)
	if err != nil || len(change.Effects) != 2 {
		t.Fatalf("%+v %v", change, err)
	}
	out, err := add.Apply(ctx, s, change)
	if err != nil || out["initial_state"] != "existing" {
		t.Fatalf("%v %v", out, err)
	}
	f.start("m3")
	healthy := NewHealthy()
	if change, err = healthy.Check(ctx, s); err != nil || !change.Needed {
		t.Fatalf("%+v %v", change, err)
	}
	if _, err := healthy.Apply(ctx, s, change); err != nil {
		t.Fatal(err)
	}
	if change, err = healthy.Check(ctx, s); err != nil || change.Needed {
		t.Errorf("a second time: %+v %v", change, err)
	}
	if f.worst != "" {
		t.Error(f.worst)
	}

	s.Name = "m1"
	s.Results["m1"]["plan"] = plan.Output
	if change, err := add.Check(ctx, s); err != nil || change.Needed {
		t.Errorf("a member is added: %+v %v", change, err)
	}
}

func TestAddMemberFailsForARefusedHost(t *testing.T) {
	s := run(t, newFake(), "m1", nil)
	s.Values = map[string]any{"plan": map[string]any{"hosts": map[string]any{"m1": map[string]any{"action": "refuse", "reason": "has no data"}}}}
	add := NewAddMember()
	add.Plan = "plan"
	if _, err := add.Check(context.Background(), s); err == nil || err.Error() != "etcd must not be touched on m1: has no data" {
		t.Errorf("got %v", err)
	}
}

func TestDryRunDoesNotWait(t *testing.T) {
	s := run(t, newFake(), "m1", nil)
	s.Check = true
	change, err := NewHealthy().Check(context.Background(), s)
	if err != nil || change.Needed || change.Output["healthy"] != false {
		t.Errorf("%+v %v", change, err)
	}
}

func TestRowsNameTheProblems(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	hosts := hostsOf("m1", "m2", "m3")
	if bad := report.Problems(Rows(context.Background(), f.open, "", hosts)); len(bad) != 0 {
		t.Errorf("a healthy cluster: %+v", bad)
	}
	f.up["m3"] = false
	var got []string
	for _, r := range report.Problems(Rows(context.Background(), f.open, "", hosts)) {
		got = append(got, r.Check+" "+r.Host+": "+r.Detail)
	}
	want := []string{"etcd member m3: etcd on m3 does not answer: connection refused", "etcd members : 2 of 3 serve; not m3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	f.up["m2"] = false
	rows := Rows(context.Background(), f.open, "", hosts)
	if last := rows[len(rows)-1]; last.OK || !strings.Contains(last.Detail, "a majority of the members is down") {
		t.Errorf("%+v", last)
	}
}

// TestMembersThatTheRunRepairs checks that a member of a repaired host that does not serve is
// no problem, and that other members, and the loss of the majority, still are.
func TestMembersThatTheRunRepairs(t *testing.T) {
	for name, c := range map[string]struct {
		down     []string
		repaired []string
		problems int
	}{
		"nothing is repaired":      {[]string{"m1"}, nil, 2}, // of the host, and of the members
		"the member is repaired":   {[]string{"m1"}, []string{"m1"}, 0},
		"another one is repaired":  {[]string{"m1"}, []string{"m2"}, 2},
		"no majority is left":      {[]string{"m1", "m2"}, []string{"m1"}, 3}, // of m2 and m3, and of the cluster
		"all serve, as they would": {nil, []string{"m1", "m2", "m3"}, 0},
	} {
		f := newFake("m1", "m2", "m3")
		for _, host := range c.down {
			f.up[host] = false
		}
		rows := Rows(t.Context(), f.open, "etcd", hostsOf("m1", "m2", "m3"), c.repaired...)
		if got := report.Problems(rows); len(got) < c.problems || c.problems == 0 && len(got) > 0 {
			t.Errorf("%s: %d problems, want %d\n%s", name, len(got), c.problems, report.Table(got))
		}
	}
}
