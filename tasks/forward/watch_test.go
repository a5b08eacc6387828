package forward

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/tasktest"
)

// containerd returns a fake containerd that runs the pod of the manifest, and calls end when a
// container gets SIGTERM.
func containerd(t *testing.T, end func() error) func(context.Context, engine.Command) (engine.CommandResult, error) {
	t.Helper()
	meta, err := json.Marshal(map[string]any{"Metadata": map[string]any{"Config": map[string]any{
		"metadata":    map[string]any{"name": "api-proxy-n1", "uid": "u1"},
		"annotations": map[string]any{"deployer/hash": "a"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Extensions": map[string]any{"io.cri-containerd.sandbox.metadata": map[string]any{"value": meta}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
		args := strings.Join(cmd.Argv[5:], " ") // after ctr --address .. --namespace ..
		switch {
		case strings.HasPrefix(args, `containers ls -q labels."io.cri-containerd.kind"==sandbox`):
			return engine.CommandResult{Stdout: "sandbox-u1\n"}, nil
		case args == "containers info sandbox-u1":
			return engine.CommandResult{Stdout: string(info)}, nil
		case strings.HasPrefix(args, `containers ls -q labels."io.kubernetes.pod.uid"==u1`):
			return engine.CommandResult{Stdout: "container-u1\n"}, nil
		case args == "tasks ls":
			return engine.CommandResult{Stdout: "TASK PID STATUS\nsandbox-u1 41 RUNNING\ncontainer-u1 42 RUNNING\n"}, nil
		case args == "tasks kill --signal SIGTERM container-u1":
			return engine.CommandResult{}, end()
		}
		return engine.CommandResult{}, errors.New("unexpected: " + args)
	}
}

// TestProxyThatHasNotLearnedItsRulesIsEndedOnce is the second outage of all API servers within
// two minutes: kube-proxy does not watch for up to two minutes, and a new process lists at once.
func TestProxyThatHasNotLearnedItsRulesIsEndedOnce(t *testing.T) {
	t.Parallel()
	var forwards, answers atomic.Bool
	answers.Store(true)
	proxy, api := server(t, &forwards), server(t, &answers)
	var ended atomic.Int32
	sys := host(t)
	sys.Exec = containerd(t, func() error { ended.Add(1); forwards.Store(true); return nil })
	gate := &Ready{HTTP: httpcheck.HTTP{URL: proxy}, Direct: []string{api}, Source: api, Manifest: manifest, Timeout: time.Minute}
	began := time.Now()
	out, err := gate.Apply(t.Context(), sys, tasktest.Check(t, sys, gate))
	if err != nil || out["forwarded"] != true || out["restarted"] != true || ended.Load() != 1 {
		t.Errorf("%v, %v, ended %d times", out, err, ended.Load())
	}
	if took := time.Since(began); took < patience || took > patience+10*time.Second {
		t.Errorf("it took %s, want a little more than %s", took, patience)
	}
}

// TestProxyIsEndedOnlyWhenItCouldLearn tries what the watch does when its patience is over.
func TestProxyIsEndedOnlyWhenItCouldLearn(t *testing.T) {
	t.Parallel()
	var up, down atomic.Bool
	up.Store(true)
	api, away := server(t, &up), server(t, &down)
	long := time.Now().Add(-time.Minute)
	for name, tt := range map[string]struct {
		gate  Ready
		watch watch
		fails error // of ending the container
		ended int32
		want  string // of the error
	}{
		"its source answers":                {gate: Ready{Source: api}, watch: watch{taught: long}, ended: 1, want: "502"},
		"its source has just begun":         {gate: Ready{Source: api}, want: "502"},
		"its source does not answer":        {gate: Ready{Source: away}, watch: watch{taught: long}, want: "502"},
		"it has no source":                  {gate: Ready{}, watch: watch{taught: long}, want: "502"},
		"it was ended before":               {gate: Ready{Source: api}, watch: watch{taught: long, restarted: true}, want: "502"},
		"it has no pod":                     {gate: Ready{Source: api, Unit: "proxy.service"}, watch: watch{taught: long}, want: "502"},
		"the container cannot be ended":     {gate: Ready{Source: api}, watch: watch{taught: long}, fails: errors.New("no containerd"), ended: 1, want: "could not be ended: sending SIGTERM to container container-u1: "},
		"no server behind the proxy answer": {gate: Ready{Source: api, Direct: []string{away}}, watch: watch{taught: long}, want: "502"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ended atomic.Int32
			sys := host(t)
			sys.Exec = containerd(t, func() error { ended.Add(1); return tt.fails })
			tt.gate.HTTP.URL = away
			if tt.gate.Direct == nil {
				tt.gate.Direct = []string{api}
			}
			if tt.gate.Unit == "" {
				tt.gate.Manifest = manifest
			}
			tt.watch.ready, tt.watch.sys, tt.watch.heard = &tt.gate, sys, time.Now()
			err := tt.watch.try(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || ended.Load() != tt.ended {
				t.Errorf("%v, ended %d times, want %q and %d", err, ended.Load(), tt.want, tt.ended)
			}
			// A source that was away has to answer for the whole time again.
			if answers := tt.gate.Source == api && tt.gate.Direct[0] == api; !answers && tt.gate.Source != "" && !tt.watch.taught.IsZero() {
				t.Errorf("the patience began at %s", tt.watch.taught)
			}
		})
	}
}

// TestProxyThatWasEndedInVain has the restart in the error.
func TestProxyThatWasEndedInVain(t *testing.T) {
	t.Parallel()
	var up, down atomic.Bool
	up.Store(true)
	api, proxy := server(t, &up), server(t, &down)
	sys := host(t)
	sys.Exec = containerd(t, func() error { return nil })
	gate := &Ready{HTTP: httpcheck.HTTP{URL: proxy}, Direct: []string{api}, Source: api, Manifest: manifest, Timeout: patience + 2*time.Second}
	_, err := gate.Apply(t.Context(), sys, engine.Change{})
	if err == nil || !strings.Contains(err.Error(), "its container was ended after 15s, and the new one does not forward either") {
		t.Errorf("%v", err)
	}
}
