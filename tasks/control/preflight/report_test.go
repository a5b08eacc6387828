package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/report"
)

// machine is the identity that a host's shell prints.
type machine struct {
	hostname, id, arch, os, version, like string
	skew                                  time.Duration
}

func good(name string) machine {
	return machine{hostname: name, id: "id-of-" + name, arch: "x86_64", os: "debian", version: "12"}
}

func newContext(machines map[string]machine, checks map[string][]any) *actiontest.Context {
	s := &actiontest.Context{Results: map[string]map[string]engine.Output{}}
	for _, host := range []string{"m1", "m2", "n1"} {
		if _, ok := machines[host]; ok {
			s.Hosts = append(s.Hosts, host)
			s.Results[host] = map[string]engine.Output{"preflight": {"checks": checks[host]}}
		}
	}
	s.RunFunc = func(_ context.Context, host, module string, _ engine.Module) (engine.Result, error) {
		m := machines[host]
		if module != "shell" || m.hostname == "" {
			return engine.Result{}, fmt.Errorf("no %s on %s", module, host)
		}
		now := time.Now().Add(m.skew)
		text := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n%s\n%d.%09d", m.hostname, m.id, m.arch, m.os, m.version, m.like, now.Unix(), now.Nanosecond())
		return engine.Result{Output: engine.Output{"stdout": text}}, nil
	}
	return s
}

func TestPreflightWithoutProblemsSucceeds(t *testing.T) {
	s := newContext(map[string]machine{"m1": good("m1"), "m2": good("m2"), "n1": good("n1")},
		map[string][]any{"m1": {map[string]any{"check": "port 6443", "ok": true, "detail": "free"}}})
	action := NewReport()
	action.Checks, action.Expected = "preflight", []string{"m1", "m2", "n1"}
	change, err := action.Check(context.Background(), s)
	if err != nil || change.Needed {
		t.Fatalf("%+v, %v", change, err)
	}
	if n := len(change.Output["checks"].([]any)); n != 10 {
		t.Errorf("%d rows, want 3 of each host and the port", n)
	}
}

func TestPreflightFailsWithAllProblemsInOneTable(t *testing.T) {
	clone := good("n1")
	clone.hostname, clone.id, clone.skew = "m1", "id-of-m1", -time.Hour
	old := good("m2")
	old.os, old.version, old.arch = "ubuntu", "20.04", "riscv64"
	s := newContext(map[string]machine{"m1": good("m1"), "m2": old, "n1": clone}, map[string][]any{
		"m1": {map[string]any{"check": "port 6443", "ok": false, "detail": "nginx holds it", "fix": "stop it"}, map[string]any{"check": "swap", "ok": true}},
	})
	action := NewReport()
	action.Checks, action.Expected = "preflight", []string{"m1", "m2", "n1", "n2"}
	change, err := action.Check(context.Background(), s)

	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, r := range problems.Rows {
		got = append(got, r.Host+" "+r.Check)
	}
	want := []string{"m1 hostname", "m1 machine-id", "m1 port 6443", "m2 architecture", "m2 os", "n1 hostname", "n1 machine-id", "n1 time", "n2 connection"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var failure *engine.Failure
	if !errors.As(err, &failure) || failure.Message != "preflight found 9 problems on 4 hosts; nothing was changed" {
		t.Errorf("as a failure: %+v", failure)
	}
	for _, line := range []string{
		"m1  port 6443     nginx holds it; stop it",
		"the host's clock is 1h0m0s behind the controller's; set up a time service",
		"ubuntu 20.04 is too old; use ubuntu 22.04 or newer",
		"has the host name m1, as n1; give each host a name of its own",
	} {
		if !strings.Contains(failure.Detail, line) {
			t.Errorf("the table lacks %q:\n%s", line, failure.Detail)
		}
	}
	if len(change.Output["problems"].([]any)) != 9 {
		t.Error("the output lacks rows")
	}
}

func TestHostThatCannotBeQueriedIsAProblem(t *testing.T) {
	s := newContext(map[string]machine{"m1": good("m1"), "n1": {}}, nil)
	action := NewReport()
	action.Checks = "preflight"
	rows := report.Problems(action.Gather(context.Background(), s))
	if len(rows) != 1 || rows[0].Host != "n1" || rows[0].Check != "identity" {
		t.Errorf("got %+v", rows)
	}
}

func TestRoundTripDoesNotCountAsSkew(t *testing.T) {
	id := identity{host: "h", skew: 3 * time.Second, uncertainty: 1500 * time.Millisecond}
	if r := clock(id, 2*time.Second); !r.OK {
		t.Errorf("a slow network counts as skew: %+v", r)
	}
	id.uncertainty = 100 * time.Millisecond
	if r := clock(id, 2*time.Second); r.OK {
		t.Errorf("skew is not reported: %+v", r)
	}
}

func TestOperatingSystems(t *testing.T) {
	for _, c := range []struct {
		os, version, like string
		ok                bool
		want              string
	}{
		{"debian", "12", "", true, "debian 12"},
		{"debian", "11", "", false, "use debian 12 or newer"},
		{"linuxmint", "21", "ubuntu debian", true, "linuxmint 21"},
		{"rocky", "9.4", "rhel centos fedora", true, "rocky 9.4"},
		{"almalinux", "8.10", "rhel centos fedora", false, "almalinux 8.10 is too old"},
		{"opensuse-leap", "15.6", "suse opensuse", true, "opensuse-leap 15.6"},
		{"opensuse-tumbleweed", "20261101", "opensuse suse", true, "20261101"},
		{"sles", "15.4", "suse", false, "too old"},
		{"alpine", "3.20", "", false, "alpine 3.20 is not supported"},
		{"", "", "", false, "unknown"},
	} {
		r := operatingSystem(identity{host: "h", os: c.os, version: c.version, like: c.like})
		if text := r.Detail + "; " + r.Fix; r.OK != c.ok || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: ok %t, %q; want %t and %q", c.os, c.version, r.OK, text, c.ok, c.want)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"9", "12", true}, {"12", "12", false}, {"12.5", "12", false}, {"22.04", "22.04", false}, {"20.10", "22.04", true}, {"22.10", "22.04", false}, {"101", "12", false}} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%s, %s) is %v", c.a, c.b, got)
		}
	}
}

// TestPreflightComparesTheClusterInUse: a host that is another node than the inventory says is
// one of the problems, and without the names of the hosts nothing is compared.
func TestPreflightComparesTheClusterInUse(t *testing.T) {
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.1", Roles: []string{cluster.RoleMaster}}, {Name: "n1", Address: "10.0.0.3", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newContext(map[string]machine{"m1": good("m1"), "n1": good("n1")}, nil)
	s.Provided = engine.Services{}
	engine.Provide(s.Provided, c)
	s.Results["n1"]["settings"] = engine.Output{"node": "n2"}
	action := NewReport()
	action.Checks = "preflight"
	if _, err := action.Check(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	action.Settings = "settings"
	_, err = action.Check(t.Context(), s)
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.Rows) != 1 || !strings.Contains(problems.Error(), "10.0.0.3 is the node n2; the inventory calls it n1") {
		t.Errorf("%v", err)
	}
}
