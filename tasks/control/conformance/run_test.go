package conformance

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/control/report"
)

const podPath = "/api/v1/namespaces/" + Namespace + "/pods/" + podName

// fakeCluster is an API server with the pod of the tests. After ends polls the tests have ended; answer
// may refuse a request first.
type fakeCluster struct {
	api     *kubetest.API
	options Options

	mu     sync.Mutex
	polls  int
	ends   int
	status map[string]any // of the pod, until it ends
	log    []string       // lines with their times
	junit  string
	answer func(path string) int // the status of a refused request; 0 for none
	warned []string
	shown  []string
}

func containers(tests map[string]any) map[string]any {
	return map[string]any{"phase": "Running", "containerStatuses": []any{
		map[string]any{"name": resultsContainer, "state": map[string]any{"running": map[string]any{}}},
		map[string]any{"name": testsContainer, "state": tests},
	}}
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	f := &fakeCluster{api: &kubetest.API{}, ends: 3, status: containers(map[string]any{"running": map[string]any{}})}
	f.log = []string{
		"2026-11-28T00:00:01.1Z Will run 2 of 9 specs", "2026-11-28T00:00:01.2Z • [1.0 seconds]", "2026-11-28T00:00:01.3Z [sig-x] a",
		"2026-11-28T00:00:01.4Z • [2.0 seconds]", "2026-11-28T00:00:01.5Z [sig-x] b", "2026-11-28T00:00:01.6Z \x1b[31mlast line",
	}
	f.junit = `<testsuites><testcase name="[It] a" status="passed" time="1"/><testcase name="[It] b" status="passed" time="2"/></testsuites>`
	f.api.Put("/api/v1/nodes/m1", map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "m1"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting"}}}})
	f.api.Written = func(_ string, o map[string]any) {
		if meta := o["metadata"].(map[string]any); meta["creationTimestamp"] == nil {
			meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			meta["uid"] = meta["creationTimestamp"]
		}
	}
	f.api.Before = f.before
	server := f.api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f.options = Options{
		Client: client.WithRetryTimeout(-1), Image: "tests:1", Probe: "probe:1", Node: "m1", Focus: DefaultFocus, Timeout: time.Hour,
		Dir: filepath.Join(dir, "results"), JUnit: filepath.Join(dir, "short.xml"),
		Progress: func(text string) { f.mu.Lock(); f.shown = append(f.shown, text); f.mu.Unlock() },
		Warn:     func(text string) { f.mu.Lock(); f.warned = append(f.warned, text); f.mu.Unlock() },
		times: times{poll: 2 * time.Millisecond, heartbeat: 10 * time.Millisecond, start: time.Minute, pull: 30 * time.Millisecond,
			api: time.Minute, contact: 50 * time.Millisecond, grace: time.Second, removal: 5 * time.Second},
	}
	return f
}

// before acts as the kubelet, and as the pod behind the proxy of the API server.
func (f *fakeCluster) before(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answer != nil {
		if code := f.answer(r.URL.Path); code != 0 {
			w.WriteHeader(code)
			return true
		}
	}
	_, _, isProxy := strings.Cut(r.URL.Path, ":8099/proxy/")
	switch {
	case r.URL.Path == podPath && r.Method == http.MethodGet:
		if pod := f.api.Object(podPath); pod != nil {
			f.polls++
			pod["status"] = f.status
			if f.ends > 0 && f.polls >= f.ends {
				pod["status"] = containers(map[string]any{"terminated": map[string]any{"exitCode": 0}})
			}
			f.api.Put(podPath, pod)
		}
		return false
	case r.URL.Path == podPath+"/log":
		_, _ = w.Write([]byte(strings.Join(f.log, "\n") + "\n"))
	case isProxy && f.junit == "":
		http.Error(w, "no such file", http.StatusNotFound)
	case isProxy:
		_, _ = w.Write([]byte(f.junit))
	default:
		return false
	}
	return true
}

// left returns the objects of the run that still exist.
func (f *fakeCluster) left() (out []string) {
	for _, path := range f.api.Paths() {
		if strings.Contains(path, Namespace) {
			out = append(out, path)
		}
	}
	return out
}

func TestRunOfTests(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	rows, err := Run(t.Context(), f.options)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || !rows[0].OK || !strings.HasPrefix(rows[0].Detail, "2 passed in ") {
		t.Errorf("rows are %+v", rows)
	}
	if left := f.left(); left != nil {
		t.Errorf("left are %q", left)
	}
	for path, want := range map[string]string{
		filepath.Join(f.options.Dir, "junit_01.xml"): f.junit, filepath.Join(f.options.Dir, "e2e.log"): "Will run 2 of 9 specs\n• [1.0 seconds]\n[sig-x] a\n• [2.0 seconds]\n[sig-x] b\nlast line\n",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if got, err := os.ReadFile(f.options.JUnit); err != nil || !strings.Contains(string(got), `tests="2" failures="0"`) {
		t.Errorf("%s %v", got, err)
	}
	if !slices.Contains(f.shown, "2 of 2 tests: [sig-x] b") {
		t.Errorf("shown were %q", f.shown)
	}
}

// TestRunsThatEndEarly: each reason why tests cannot run to their end is an error that names it, and nothing
// of the run is left.
func TestRunsThatEndEarly(t *testing.T) {
	t.Parallel()
	waiting := func(reason string) map[string]any {
		return containers(map[string]any{"waiting": map[string]any{"reason": reason, "message": "no such host"}})
	}
	for name, test := range map[string]struct {
		change func(*fakeCluster)
		want   string
	}{
		"no test is selected": {func(f *fakeCluster) { f.junit = "<testsuites></testsuites>" }, "no test is selected by --focus"},
		"no report":           {func(f *fakeCluster) { f.junit = "" }, "the tests ended with 0 without a report: last line"},
		"a report of rubbish": {func(f *fakeCluster) { f.junit = "<x" }, "the JUnit report cannot be read"},
		"image missing":       {func(f *fakeCluster) { f.ends, f.status = 0, waiting("ImagePullBackOff") }, "node m1 cannot get the image of the tests: ImagePullBackOff no such host"},
		"image refused":       {func(f *fakeCluster) { f.ends, f.status = 0, waiting("InvalidImageName") }, "container tests cannot start"},
		"pod evicted":         {func(f *fakeCluster) { f.ends, f.status = 0, map[string]any{"phase": "Failed", "reason": "Evicted"} }, "it ended without its tests: Evicted"},
		"pod deleted": {func(f *fakeCluster) {
			f.ends = 0
			f.answer = func(path string) int {
				if path == podPath && f.polls > 2 {
					f.answer = nil
					go func() { _ = f.options.Client.Delete(context.Background(), kube.PodKind(), Namespace, podName, 0) }()
				}
				return 0
			}
		}, "another program has deleted the pod"},
		"node lost": {func(f *fakeCluster) {
			f.ends = 0
			f.answer = func(path string) int {
				if strings.HasSuffix(path, "/log") {
					return http.StatusBadGateway
				}
				return 0
			}
		}, "the pod of the tests has not answered for 50ms; node m1 is not Ready: "},
		"API lost": {func(f *fakeCluster) {
			f.ends, f.options.times.api, f.options.times.contact = 0, 40*time.Millisecond, time.Minute
			away := 0
			f.answer = func(path string) int {
				if f.polls > 2 && away < 60 {
					away++
					return http.StatusServiceUnavailable
				}
				return 0
			}
		}, "the API has not answered for 40ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeCluster(t)
			test.change(f)
			rows, err := Run(t.Context(), f.options)
			if err == nil || !strings.Contains(err.Error(), test.want) || rows != nil {
				t.Errorf("rows %v, error %v, want %q", rows, err, test.want)
			}
			if left := f.left(); left != nil && name != "API lost" {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// TestAPIThatIsAwayForAWhile: the tests go on without the controller, which then reads all they have
// reported meanwhile.
func TestAPIThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.ends, f.options.times.contact = 8, 5*time.Second
	f.junit = strings.Replace(f.junit, `"[It] b" status="passed" time="2"/>`, `"[It] b" status="failed" time="2"><failure>why</failure></testcase>`, 1)
	f.log[3] = "2026-11-28T00:00:01.4Z • [FAILED] [2.0 seconds]"
	away := 0
	f.answer = func(string) int {
		if f.polls > 2 && away < 30 {
			away++
			return http.StatusServiceUnavailable
		}
		return 0
	}
	rows, err := Run(t.Context(), f.options)
	if err != nil {
		t.Fatal(err)
	}
	if bad := report.Problems(rows); len(bad) != 2 || bad[0].Check != "b" || bad[0].Detail != "why" {
		t.Errorf("problems are %+v", bad)
	}
	if diff := cmp.Diff([]string{"failed: [sig-x] b"}, f.warned); diff != "" || f.left() != nil {
		t.Errorf("%s, left are %q", diff, f.left())
	}
}

// TestLostConnection: requests fail until the connection to the master is opened again.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.ends, f.options.times.reconnect = 8, 10*time.Millisecond
	lost := false
	f.answer = func(string) int {
		if lost = lost || f.polls == 3; lost {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	tries := 0
	f.options.Reconnect = func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("no route to host")
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		lost, f.polls, f.answer = false, 4, nil
		return nil
	}
	if rows, err := Run(t.Context(), f.options); err != nil || len(report.Problems(rows)) > 0 || tries != 3 {
		t.Errorf("%+v %v after %d tries", rows, err, tries)
	}
}

// TestInterruptedRun: an interrupt removes everything, the namespaces of tests included, but not those
// that existed before.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	f.ends = 0
	namespace := func(name string, created time.Time) {
		f.api.Put("/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": name, "labels": map[string]any{"e2e-run": "x"}, "creationTimestamp": created.UTC().Format(time.RFC3339)}})
	}
	namespace("dns-1", time.Now().Add(time.Minute))
	namespace("dns-of-others", time.Now().Add(-time.Hour))
	ctx, stop := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	f.options.Progress = func(text string) {
		if strings.HasPrefix(text, "2 of 2") {
			stop(interrupted)
		}
	}
	if _, err := Run(ctx, f.options); !errors.Is(err, interrupted) {
		t.Error(err)
	}
	if f.left() != nil || f.api.Object("/api/v1/namespaces/dns-1") != nil || f.api.Object("/api/v1/namespaces/dns-of-others") == nil {
		t.Errorf("namespaces are %q", f.api.Paths())
	}
}

// TestFormerRun: what a killed run has left is removed, and a run that lives is left alone.
func TestFormerRun(t *testing.T) {
	t.Parallel()
	f := newFakeCluster(t)
	former := func() {
		f.api.Put("/api/v1/namespaces/"+Namespace, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Namespace}})
		f.api.Put(podPath, map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": podName, "namespace": Namespace, "labels": map[string]any{"former": "true"}}})
	}
	former()
	if rows, err := Run(t.Context(), f.options); err != nil || len(rows) != 1 {
		t.Errorf("rows %v, %v", rows, err)
	}
	former()
	other := &run{o: f.options}
	alive, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for alive.Err() == nil {
			other.beat(alive)
			time.Sleep(2 * time.Millisecond)
		}
	}()
	_, err := Run(t.Context(), f.options)
	if err == nil || !strings.Contains(err.Error(), "another run of the conformance tests uses namespace "+Namespace) {
		t.Error(err)
	}
	if f.api.Object(podPath) == nil {
		t.Error("the pod of the other run is removed")
	}
}
