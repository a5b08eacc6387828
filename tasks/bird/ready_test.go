package bird

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

const protocols = `Name       Proto      Table      State  Since         Info
device1    Device     ---        up     14:00:00.000  
direct1    Direct     ---        up     14:00:00.000  
to_m1      BGP        ---        up     14:00:07.123  Established   
to_m2      BGP        ---        start  14:00:07.123  Connect       Socket: No route to host
to_n1      BGP        ---        up     2026-11-20    Established   
to_n2      BGP        ---        down   14:00:07.123  
`

const table = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	01001FAC	0003	0	0	0	00000000	0	0	0
eth0	0001F40A	0C001FAC	0003	0	0	32	00FFFFFF	0	0	0
cni0	0000F40A	00000000	0001	0	0	0	00FFFFFF	0	0	0
eth0	0002F40A	0D001FAC	0003	0	0	32	00FFFFFF	0	0	0
eth0	0003F40A	0E001FAC	0003	0	0	4096	00FFFFFF	0	0	0
`

// fixed returns the same protocols each time.
func fixed(table string) func() string { return func() string { return table } }

// host returns a host whose BIRD lists the protocols of shown.
func host(t *testing.T, shown func() string) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	units := tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"deployer-bird.service": {Active: "active"}})
	sys.Exec = units.Exec
	serve(t, sys.Path(defaultSocket), shown)
	sys.Write(t, "/proc/net/route", table, 0o444)
	return sys
}

func TestStatus(t *testing.T) {
	t.Parallel()
	sys := host(t, fixed(protocols))
	want := engine.Output{"sessions": []string{"to_m1", "to_n1"}, "since": map[string]any{"to_m1": "14:00:07.123", "to_n1": "2026-11-20"}, "configured": []string{"to_m1", "to_m2", "to_n1", "to_n2"}, "routes": []string{"10.244.1.0/24", "10.244.2.0/24"}}
	if diff := cmp.Diff(want, tasktest.Check(t, sys, &Status{}).Output); diff != "" {
		t.Error(diff)
	}
	// The gateway of 10.244.2.0/24 has another address now.
	if got := tasktest.Check(t, sys, &Status{Gateways: []string{"172.31.0.12", "172.31.0.99"}}).Output["routes"]; !cmp.Equal(got, []string{"10.244.1.0/24"}) {
		t.Errorf("routes through hosts that exist: %v", got)
	}
	if err := os.Remove(sys.Path(defaultSocket)); err != nil {
		t.Fatal(err)
	}
	if out := tasktest.Check(t, sys, &Status{}).Output; len(out["sessions"].([]string)) != 0 {
		t.Errorf("a BIRD that does not run has %v", out)
	}
}

// TestRestarted: a change that BIRD has not read yet leaves the sessions as they are.
func TestRestarted(t *testing.T) {
	t.Parallel()
	shown := atomic.Value{}
	shown.Store(protocols)
	sys := host(t, func() string { return shown.Load().(string) })
	wanted := &Ready{Restarted: true, Before: Before{Sessions: []string{"to_m1", "to_gone"}, Since: map[string]string{"to_m1": "14:00:07.123", "to_gone": "14:00:07.123"}}}
	if change := tasktest.Check(t, sys, wanted); !change.Needed {
		t.Error("ready before the session was restarted")
	}
	shown.Store(strings.Replace(protocols, "up     14:00:07.123  Established", "start  14:00:09.001  Connect", 1))
	if change := tasktest.Check(t, sys, wanted); !change.Needed {
		t.Error("ready while the session is not established")
	}
	shown.Store(strings.Replace(protocols, "14:00:07.123  Established", "14:00:11.002  Established", 1))
	if change := tasktest.Check(t, sys, wanted); change.Needed {
		t.Error("not ready, although the session was restarted")
	}
}

// TestTwoBIRDs: BIRD 1 is a program for each family, and each has sessions.
func TestTwoBIRDs(t *testing.T) {
	t.Parallel()
	sys := host(t, fixed(protocols))
	const socket = "/run/bird/bird6.ctl"
	both := []string{defaultSocket, socket}
	if got := tasktest.Check(t, sys, &Status{Sockets: both}).Output["sessions"]; !cmp.Equal(got, []string{"to_m1", "to_n1"}) {
		t.Errorf("before the second one runs: %v", got)
	}
	wanted := &Ready{Sessions: []string{"to_m1", "to6_m1"}, Sockets: both}
	if change := tasktest.Check(t, sys, wanted); !change.Needed {
		t.Error("ready without the second one")
	}
	shown := atomic.Value{}
	shown.Store(strings.ReplaceAll(protocols, "to_", "to6_"))
	serve(t, sys.Path(socket), func() string { return shown.Load().(string) })
	if got := tasktest.Check(t, sys, &Status{Sockets: both}).Output["sessions"]; !cmp.Equal(got, []string{"to6_m1", "to6_n1", "to_m1", "to_n1"}) {
		t.Errorf("sessions of both: %v", got)
	}
	if change := tasktest.Check(t, sys, wanted); change.Needed {
		t.Error("not ready, although both sessions are established")
	}
	shown.Store(strings.ReplaceAll(protocols, "to_", "to6_n"))
	if change := tasktest.Check(t, sys, wanted); !change.Needed {
		t.Error("ready without the session of the second one")
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	before := Before{Sessions: []string{"to_m1", "to_n1"}, Routes: []string{"10.244.1.0/24", "10.244.2.0/24"}}
	for name, tt := range map[string]struct {
		gate  Ready
		shown string
		want  string
	}{
		"as before":              {Ready{Before: before}, protocols, ""},
		"new":                    {Ready{}, protocols, ""},
		"does not answer":        {Ready{}, "", "BIRD has closed the connection"},
		"a session is down":      {Ready{Before: Before{Sessions: []string{"to_m1", "to_m2"}}}, protocols, "1 of 2 sessions that were established are not: to_m2 (Connect Socket: No route to host)"},
		"a session is off":       {Ready{Before: Before{Sessions: []string{"to_n2"}}}, protocols, "to_n2 (down)"},
		"a peer has left":        {Ready{Before: Before{Sessions: []string{"to_n9"}}}, protocols, ""},
		"a route is lost":        {Ready{Before: Before{Routes: []string{"10.244.1.0/24", "10.244.7.0/24"}}}, protocols, "lost 1 of 2 routes: 10.244.7.0/24"},
		"a range was freed":      {Ready{Before: Before{Routes: []string{"10.244.7.0/24"}}, Ranges: []string{"10.244.1.0/24"}}, protocols, ""},
		"a new router is down":   {Ready{Before: Before{Configured: []string{"to_m1"}}, Routers: []string{"to_m1", "to_n1", "to_m2"}}, protocols, "1 of 2 new sessions with routers are not established: to_m2 (Connect Socket: No route to host)"},
		"a router that was down": {Ready{Before: Before{Configured: []string{"to_m2"}}, Routers: []string{"to_n1", "to_m2"}}, protocols, ""},
		"one of two routers":     {Ready{Routers: []string{"to_m2", "to_n1"}}, protocols, ""},
		"no router":              {Ready{Routers: []string{"to_m2", "to_n9"}}, protocols, "2 of 2 new sessions with routers are not established: to_m2 (Connect Socket: No route to host), to_n9 (not configured)"},
		"a range still used":     {Ready{Before: Before{Routes: []string{"10.244.7.0/24"}}, Ranges: []string{"10.244.7.0/24"}}, protocols, "lost 1 of 1"},
	} {
		sys := host(t, fixed(tt.shown))
		tt.gate.Timeout = time.Millisecond
		change := tasktest.Check(t, sys, &tt.gate)
		if change.Needed != (tt.want != "") {
			t.Errorf("%s: %+v", name, change)
			continue
		}
		if tt.want == "" {
			continue
		}
		_, err := tt.gate.Apply(t.Context(), sys, change)
		failure, ok := err.(*engine.Failure) //nolint:errorlint // the module's own
		if !ok || !strings.Contains(failure.Message, tt.want) || !strings.Contains(failure.Detail, "line of the journal") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestSessionThatIsReestablished(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	sys := host(t, func() string {
		if looks.Add(1) < 4 {
			return strings.ReplaceAll(protocols, "Established", "Idle")
		}
		return protocols
	})
	gate := &Ready{Before: Before{Sessions: []string{"to_m1"}}, Timeout: 10 * time.Second}
	change := tasktest.Check(t, sys, gate)
	if !change.Needed {
		t.Fatal("the session that is lost is not missed")
	}
	if _, err := gate.Apply(t.Context(), sys, change); err != nil {
		t.Error(err)
	}
}
