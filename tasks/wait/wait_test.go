package wait

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deployer/tasks/hostcmd"
	"deployer/tasks/httpcheck"
	"deployer/tasks/tasktest"
)

func TestWaitsForEachKind(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/run")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unix, err := net.Listen("unix", sys.Path("/run/closing"))
	if err != nil {
		t.Fatal(err)
	}
	sys.Exec = tasktest.RealExec
	sys.Write(t, "/run/lock", "", 0o644)
	sys.Write(t, "/run/busy", "busy", 0o644)
	sys.Write(t, "/proc/net/tcp", "  sl  local_address rem_address   st\n   0: 0100007F:1F90 0200007F:C350 01 0\n", 0o644)
	var ready atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(`{"health":"true"}`))
	}))
	defer server.Close()
	tests := map[string]struct {
		module *Condition
		appear func() (func() error, error)
	}{
		"path": {&Condition{Path: "/run/x"}, func() (func() error, error) { sys.Write(t, "/run/x", "", 0o644); return nil, nil }},
		"port": {&Condition{Port: port}, func() (func() error, error) {
			l, err := net.Listen("tcp", listener.Addr().String())
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}},
		"socket": {&Condition{Socket: "/run/s"}, func() (func() error, error) {
			l, err := net.Listen("unix", sys.Path("/run/s"))
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}},
		"text": {&Condition{Path: "/run/log", SearchRegex: "(?m)^ready$"}, func() (func() error, error) {
			sys.Write(t, "/run/log", "starting\nready\n", 0o644)
			return nil, nil
		}},
		"command": {&Condition{Command: hostcmd.Words{"test", "-e", sys.Path("/run/made")}}, func() (func() error, error) {
			sys.Write(t, "/run/made", "", 0o644)
			return nil, nil
		}},
		"path gone": {&Condition{Path: "/run/lock", State: "absent"}, func() (func() error, error) { return nil, os.Remove(sys.Path("/run/lock")) }},
		"text gone": {&Condition{Path: "/run/busy", SearchRegex: "^busy", State: "absent"}, func() (func() error, error) {
			sys.Write(t, "/run/busy", "idle", 0o644)
			return nil, nil
		}},
		"port closed":   {&Condition{Port: closing.Addr().(*net.TCPAddr).Port, State: "stopped"}, func() (func() error, error) { return nil, closing.Close() }},
		"socket closed": {&Condition{Socket: "/run/closing", State: "stopped"}, func() (func() error, error) { return nil, unix.Close() }},
		"drained": {&Condition{Port: 8080, State: "drained"}, func() (func() error, error) {
			sys.Write(t, "/proc/net/tcp", "  sl  local_address rem_address   st\n   0: 00000000:1F90 00000000:0000 0A 0\n", 0o644)
			return nil, nil
		}},
		"http": {&Condition{HTTP: &httpcheck.HTTP{URL: server.URL, Body: `"health":"true"`}}, func() (func() error, error) { ready.Store(true); return nil, nil }},
	}
	for name, tt := range tests {
		tt.module.Interval, tt.module.Timeout = 5*time.Millisecond, 10*time.Second
		change := tasktest.Check(t, sys, tt.module)
		if !change.Needed || len(change.Effects) != 0 {
			t.Errorf("%s: before: %+v, want a wait without effects", name, change)
		}
		done := make(chan error, 1)
		go func() {
			_, err := tt.module.Apply(t.Context(), sys, change)
			done <- err
		}()
		close, err := tt.appear()
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tasktest.Check(t, sys, tt.module).Needed {
			t.Errorf("%s: still waits afterwards", name)
		}
		if close != nil {
			if err := close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTimeoutErrorNamesTheReason(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/run/there", "x", 0o644)
	for want, m := range map[string]*Condition{
		"/run/x does not exist yet":    {Path: "/run/x"},
		"connect":                      {Socket: "/run/s"},
		"path \"x\" is not absol":      {Path: "x", Port: 1},
		"port, path, socket, http":     {},
		"does not match \"never\"":     {Path: "/run/there", SearchRegex: "never"},
		"missing closing )":            {Path: "/run/there", SearchRegex: "("},
		"search_regex requires":        {Port: 1, SearchRegex: "x"},
		"drained requires port":        {Path: "/run/x", State: "drained"},
		"cannot be combined with http": {HTTP: &httpcheck.HTTP{}, State: "absent"},
		"/run/there still exists":      {Path: "/run/there", State: "absent"},
		"the site is down: ":           {Path: "/run/x", Msg: "the site is down"},
	} {
		m.Timeout, m.Interval = 20*time.Millisecond, 5*time.Millisecond
		_, _, err := tasktest.Run(t, sys, m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestPause: a delay without conditions waits, except in a dry run.
func TestPause(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	m := &Condition{Delay: 30 * time.Millisecond}
	if change := tasktest.Check(t, sys, m); !change.Wait {
		t.Errorf("change %+v, want a wait", change)
	}
	began := time.Now()
	if _, _, err := tasktest.Run(t, sys, m); err != nil || time.Since(began) < m.Delay {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	const table = "  sl  local_address                         remote_address                        st\n" +
		"   0: 0100007F:1F90 0200007F:C350 01 0\n" + // 127.0.0.1:8080, established
		"   1: 0100007F:1F90 0200007F:C351 06 0\n" + // in TIME_WAIT: over
		"   2: 0B001FAC:1F90 0200007F:C352 04 0\n" + // 172.31.0.11:8080, closing
		"   3: 0100007F:1F91 0200007F:C353 01 0\n" + // another port
		"   4: 0000000000000000FFFF00000B001FAC:1F90 x:1 01 0\n" + // 172.31.0.11 on an IPv6 socket
		"   5: 00000000000000000000000001000000:1F90 x:1 01 0\n" + // ::1
		"garbage\n   6: odd 1 01\n"
	for host, want := range map[string]int{"": 4, "127.0.0.1": 1, "172.31.0.11": 2, "::1": 1, "10.0.0.1": 0} {
		only, _ := netip.ParseAddr(host)
		if got := connections(table, only, 8080); got != want {
			t.Errorf("%q: %d connections, want %d", host, got, want)
		}
	}
}
