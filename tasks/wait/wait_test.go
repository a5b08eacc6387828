package wait

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deployer/tasks/probe"
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
	var ready atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(`{"health":"true"}`))
	}))
	defer server.Close()
	tests := map[string]struct {
		module *For
		appear func() (func() error, error)
	}{
		"path": {&For{Path: "/run/x"}, func() (func() error, error) { sys.Write(t, "/run/x", "", 0o644); return nil, nil }},
		"port": {&For{Port: port}, func() (func() error, error) {
			l, err := net.Listen("tcp", listener.Addr().String())
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}},
		"socket": {&For{Socket: "/run/s"}, func() (func() error, error) {
			l, err := net.Listen("unix", sys.Path("/run/s"))
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}},
		"http": {&For{HTTP: &probe.HTTP{URL: server.URL, Body: `"health":"true"`}}, func() (func() error, error) { ready.Store(true); return nil, nil }},
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

func TestGivesUpAndSaysWhy(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	for want, m := range map[string]*For{
		"/run/x is not there yet":  {Path: "/run/x"},
		"connect":                  {Socket: "/run/s"},
		"path \"x\" is not absol":  {Path: "x", Port: 1},
		"want a port, path, socke": {},
	} {
		m.Timeout, m.Interval = 20*time.Millisecond, 5*time.Millisecond
		_, _, err := tasktest.Run(t, sys, m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
