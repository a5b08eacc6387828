package kubelet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/httpcheck"
	"deployer/tasks/unit"
)

// testNode is a node with a kubelet as the gate observes it, under the clock of synctest.
type testNode struct {
	*actiontest.Context
	began   time.Time
	pid     int
	crashAt time.Duration // after the start of each process; 0: never
	renews  time.Duration // after the start of each process; 0: never
	lease   bool          // the API has the node's Lease
	api     error         // why no API server answers
	local   bool          // the node itself reaches an API server
	missing bool          // the host has no such unit
	queries int
}

func newTestNode(b testNode) *testNode {
	b.began, b.pid = time.Now(), 100
	b.Context = &actiontest.Context{Name: "n1", Provided: engine.Services{}, Values: map[string]any{}}
	engine.Provide(b.Provided, &cluster.Cluster{API: cluster.API{Local: "https://127.0.0.1:6443"}})
	b.RunFunc = b.run
	return &b
}

// age updates the process to the current time: systemd starts it again two seconds after
// it has ended.
func (b *testNode) age() (up bool, started time.Time) {
	started = b.began
	for b.crashAt > 0 && time.Since(started) >= b.crashAt+2*time.Second {
		started, b.pid = started.Add(b.crashAt+2*time.Second), b.pid+1
	}
	b.began = started
	return b.crashAt == 0 || time.Since(started) < b.crashAt, started
}

func (b *testNode) run(_ context.Context, _, module string, args engine.Module) (engine.Result, error) {
	b.queries++
	if module == "http_check" {
		url := args.(*httpcheck.Checks).Checks[0].URL
		return engine.Result{Output: engine.Output{"checks": []any{map[string]any{"ok": b.local, "detail": url + ": connection refused"}}}}, nil
	}
	if b.missing {
		return engine.Result{Output: engine.Output{"load_state": "not-found", "active_state": "inactive", "now": time.Now().Format(time.RFC3339Nano), "started": ""}}, nil
	}
	up, started := b.age()
	out := engine.Output{"load_state": "loaded", "active_state": "active", "result": "success", "main_pid": b.pid, "invocation": "i",
		"started": started.Format(time.RFC3339Nano), "now": time.Now().Format(time.RFC3339Nano)}
	if !up {
		out["active_state"], out["result"], out["main_pid"], out["started"] = "activating", "exit-code", 0, ""
	}
	if args.(*unit.Process).Log {
		out["journal"] = "kubelet[7]: I1122 server.go] starting\nkubelet[7]: E1122 run.go:72] \"command failed\" err=\"failed to run Kubelet: boom\"\nsystemd[1]: Failed."
	}
	return engine.Result{Output: out}, nil
}

// read acts as the API: it returns the lease with the renewals of the processes.
func (b *testNode) read(context.Context, string) (lease, bool, error) {
	if b.api != nil {
		return lease{}, false, b.api
	}
	l := lease{renewed: b.began.Add(-time.Second), duration: 40 * time.Second} // by the process before
	_, started := b.age()
	if lived := time.Since(started); b.renews > 0 && lived >= b.renews && (b.crashAt == 0 || b.renews < b.crashAt) {
		l.renewed = started.Add(b.renews + (lived-b.renews)/(10*time.Second)*10*time.Second)
	}
	return l, !b.lease, nil
}

func TestReady(t *testing.T) {
	for name, tt := range map[string]struct {
		node   testNode
		age    time.Duration // of the process at the first observation
		proved string
		within time.Duration
		want   string // of the error
	}{
		"renewed twice":                   {node: testNode{lease: true, renews: time.Second}, proved: "lease", within: 12 * time.Second},
		"started an hour ago":             {node: testNode{lease: true, renews: time.Second}, age: time.Hour, proved: "lease", within: 0},
		"renewed 21 s after its start":    {node: testNode{lease: true, renews: time.Second}, age: 22 * time.Second, proved: "lease", within: 0},
		"crashes after 2 s":               {node: testNode{lease: true, renews: time.Second, crashAt: 2 * time.Second}, within: 3 * time.Second, want: `not healthy after 2s: process 100 ended 2s after its start, and kubelet.service is activating (exit-code): err="failed to run Kubelet: boom"`},
		"crashes after 11 s":              {node: testNode{lease: true, renews: 2 * time.Second, crashAt: 11 * time.Second}, within: 12 * time.Second, want: "process 100 ended 11s after its start"},
		"never renews":                    {node: testNode{lease: true, local: true}, within: 90 * time.Second, want: "process 100 has renewed the lease of node n1 0 of 2 times"},
		"never joined":                    {node: testNode{}, proved: "nothing", within: 0},
		"no API server":                   {node: testNode{api: errors.New("refused")}, proved: "process", within: 15 * time.Second},
		"no API server, crashes":          {node: testNode{api: errors.New("refused"), crashAt: 3 * time.Second}, within: 4 * time.Second, want: "process 100 ended 3s after its start"},
		"the node does not reach the API": {node: testNode{lease: true}, proved: "process", within: 25 * time.Second},
		"no kubelet":                      {node: testNode{lease: true, missing: true}, within: 90 * time.Second, want: "kubelet.service is inactive"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestNode(tt.node)
				time.Sleep(tt.age)
				g := &gate{actx: b, node: "n1", unit: "kubelet.service", read: b.read}
				began := time.Now()
				proved, err := g.wait(t.Context(), 90*time.Second, false)
				took := time.Since(began)
				if err != nil {
					err = g.failure(t.Context(), err, took)
				}
				if proved != tt.proved || took > tt.within || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("proved %q after %s, error %v", proved, took, err)
				}
				if tt.within == 0 && b.queries > 1 {
					t.Errorf("a ready kubelet costs %d queries of its host", b.queries)
				}
				if failure, ok := errors.AsType[*engine.Failure](err); ok && !tt.node.missing && !strings.Contains(failure.Detail, "starting") {
					t.Errorf("the log is missing: %q", failure.Detail)
				}
			})
		})
	}
}

func TestGateOfARevertSkipsAMissingKubelet(t *testing.T) {
	b := newTestNode(testNode{lease: true, missing: true})
	g := &gate{actx: b, node: "n1", unit: "kubelet.service", read: b.read}
	if proved, err := g.wait(t.Context(), time.Minute, NewReady().Gate().(*Ready).MissingOK); err != nil || proved != "nothing" {
		t.Errorf("proved %q, %v", proved, err)
	}
}

func TestDryRunDoesNotQueryTheHost(t *testing.T) {
	b := newTestNode(testNode{})
	b.Check = true
	if change, err := NewReady().Check(t.Context(), b); err != nil || change.Needed || b.queries > 0 {
		t.Errorf("%+v, %v, queries %d", change, err, b.queries)
	}
}

func TestLeaseIsReadFromTheAPI(t *testing.T) {
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, engine.ActionContext) (*kube.Client, error) { return client, nil }
	if _, noLease, err := readLease(t.Context(), open, nil, "n1"); !noLease || err != nil {
		t.Errorf("without a lease: %v, %v", noLease, err)
	}
	api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "n1"},
		"spec": map[string]any{"renewTime": "2026-11-22T10:00:00.000000Z", "leaseDurationSeconds": int64(40)},
	})
	l, noLease, err := readLease(t.Context(), open, nil, "n1")
	if err != nil || noLease || l.interval() != 10*time.Second || l.renewed.Hour() != 10 {
		t.Errorf("%+v, %v, %v", l, noLease, err)
	}
	server.Close()
	if _, noLease, err := readLease(t.Context(), open, nil, "n1"); noLease || err == nil {
		t.Errorf("without an API server: %v, %v", noLease, err)
	}
}
