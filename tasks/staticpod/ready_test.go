package staticpod

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/tasktest"
)

const manifestPath = "/etc/kubernetes/manifests/kube-apiserver.yaml"

// TestMissingManifestIsReadyWithMissingOK: the gate of a revert that removed the
// manifest does not wait.
func TestMissingManifestIsReadyWithMissingOK(t *testing.T) {
	t.Parallel()
	ready := &Ready{Manifest: manifestPath}
	if change := tasktest.Check(t, tasktest.New(t), ready); !change.Needed {
		t.Error("a manifest that is not there yet is not waited for")
	}
	if change := tasktest.Check(t, tasktest.New(t), ready.Gate().(*Ready)); change.Needed {
		t.Error("a manifest that is gone is waited for")
	}
}

func writeManifest(t *testing.T, sys *tasktest.System, hash string) {
	t.Helper()
	sys.Write(t, manifestPath, `apiVersion: v1
kind: Pod
metadata:
  name: kube-apiserver
  namespace: kube-system
  annotations: {deployer/hash: "`+hash+`"}
spec:
  containers: [{name: kube-apiserver, image: x}]
`, 0o600)
}

// kubelet is a fake containerd with the sandboxes and containers of a kubelet: sandboxes
// with the hash of their manifest, containers with a status.
type kubelet struct {
	mu   sync.Mutex
	pods []pod

	created time.Time         // of all containers
	signal  func(args string) // runs when a task gets a signal; nil: an error
}

type pod struct{ uid, hash, status string }

func (k *kubelet) set(pods ...pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = pods
}

func (k *kubelet) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	args := strings.Join(cmd.Argv[5:], " ") // after ctr --address .. --namespace ..
	var out strings.Builder
	switch {
	case strings.HasPrefix(args, `containers ls -q labels."io.cri-containerd.kind"==sandbox,labels."io.kubernetes.pod.namespace"==kube-system,labels."io.kubernetes.pod.name"~="^kube-apiserver-"`):
		for _, p := range k.pods {
			fmt.Fprintln(&out, "sandbox-"+p.uid)
		}
	case strings.HasPrefix(args, "containers info sandbox-"):
		for _, p := range k.pods {
			if args == "containers info sandbox-"+p.uid {
				return engine.CommandResult{Stdout: describe(p)}, nil
			}
		}
		return engine.CommandResult{Exit: 1, Stderr: "not found"}, nil
	case strings.HasPrefix(args, "containers info container-"):
		return engine.CommandResult{Stdout: `{"CreatedAt": "` + k.created.Format(time.RFC3339Nano) + `"}`}, nil
	case strings.HasPrefix(args, "tasks kill ") && k.signal != nil:
		k.signal(args)
	case args == "tasks ls":
		fmt.Fprintln(&out, "TASK    PID    STATUS    ")
		for _, p := range k.pods {
			fmt.Fprintf(&out, "sandbox-%s    41    %s\ncontainer-%s    42    %s\n", p.uid, p.status, p.uid, p.status)
		}
	default:
		for _, p := range k.pods {
			if args == `containers ls -q labels."io.kubernetes.pod.uid"==`+p.uid+`,labels."io.kubernetes.container.name"==kube-apiserver` {
				return engine.CommandResult{Stdout: "container-" + p.uid + "\n"}, nil
			}
		}
		return engine.CommandResult{}, errors.New("unexpected: " + args)
	}
	return engine.CommandResult{Stdout: out.String()}, nil
}

// describe writes the output of ctr containers info for a sandbox.
func describe(p pod) string {
	meta, _ := json.Marshal(map[string]any{"Version": "v1", "Metadata": map[string]any{
		"ID": "sandbox-" + p.uid, "Config": map[string]any{
			"metadata":    map[string]any{"name": "kube-apiserver-m1", "uid": p.uid},
			"annotations": map[string]any{HashAnnotation: p.hash, "kubernetes.io/config.source": "file"},
		},
	}})
	info, _ := json.Marshal(map[string]any{"ID": "sandbox-" + p.uid, "Extensions": map[string]any{
		"io.cri-containerd.sandbox.metadata": map[string]any{"type_url": "x", "value": meta},
	}})
	return string(info)
}

func host(t *testing.T) (*tasktest.System, *kubelet) {
	t.Helper()
	sys, k := tasktest.New(t), &kubelet{}
	sys.Exec = k.exec
	return sys, k
}

func TestPodState(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pods []pod
		want string // empty: ready
	}{
		"runs":              {[]pod{{"u1", "new", "RUNNING"}}, ""},
		"with an older pod": {[]pod{{"u0", "old", "STOPPED"}, {"u1", "new", "RUNNING"}}, ""},
		"no pod yet":        {nil, "the kubelet has not started pod kube-apiserver yet"},
		"old manifest":      {[]pod{{"u0", "old", "RUNNING"}}, "still runs pod kube-apiserver as an older manifest says"},
		"old pod ended":     {[]pod{{"u0", "old", "STOPPED"}}, "the kubelet has not started pod kube-apiserver yet"},
		"new pod starts":    {[]pod{{"u0", "old", "RUNNING"}, {"u1", "new", "CREATED"}}, "container kube-apiserver of pod kube-apiserver does not run yet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, k := host(t)
			writeManifest(t, sys, "new")
			k.set(tt.pods...)
			r := &Ready{Manifest: manifestPath}
			m, err := r.read(sys)
			if err != nil {
				t.Fatal(err)
			}
			err = r.runs(t.Context(), sys, m)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if needed := tasktest.Check(t, sys, r).Needed; needed == (tt.want == "") {
				t.Errorf("check says needed: %t", needed)
			}
		})
	}
}

func TestWaitsUntilTheNewPodRunsAndAnswers(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	k.set(pod{"u0", "old", "RUNNING"})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	go func() {
		time.Sleep(50 * time.Millisecond) // the kubelet acts while the gate waits
		k.set(pod{"u1", "new", "RUNNING"})
	}()
	tasktest.Converge(t, sys, &Ready{Manifest: manifestPath, Health: &httpcheck.HTTP{URL: server.URL}, Timeout: 20 * time.Second})
}

func TestTimeoutErrorContainsTheLog(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	k.set(pod{"u1", "new", "CREATED"})
	sys.Write(t, "/var/log/pods/kube-system_kube-apiserver-m1_u1/kube-apiserver/0.log", "2026 stderr F bad flag\n", 0o644)
	_, _, err := tasktest.Run(t, sys, &Ready{Manifest: manifestPath, Timeout: 10 * time.Millisecond})
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || !strings.Contains(failure.Message, "is not up after") || !strings.Contains(failure.Detail, "bad flag") {
		t.Errorf("failure %+v", failure)
	}
}

func TestManifestErrors(t *testing.T) {
	t.Parallel()
	sys, _ := host(t)
	if change := tasktest.Check(t, sys, &Ready{Manifest: manifestPath}); !change.Needed {
		t.Error("a dry run whose manifest is not there yet must want to wait")
	}
	for content, want := range map[string]string{
		"metadata: {name: x}\n":                                  "not that of a pod",
		"metadata: {name: x}\nspec: {containers: [{name: c}]}\n": "no annotation deployer/hash",
		"a: b: c": "manifest " + manifestPath,
	} {
		sys.Write(t, manifestPath, content, 0o600)
		if _, _, err := tasktest.Run(t, sys, &Ready{Manifest: manifestPath}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestContainersAreListedOnlyAfterAChange counts the runs of ctr, which are expensive on
// a host that is starting.
func TestContainersAreListedOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	r := &Ready{Manifest: manifestPath}
	m, err := r.read(sys)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{ready: r, sys: sys, manifest: m}
	for range 5 {
		if err := w.try(t.Context()); err == nil {
			t.Fatal("ready without a pod")
		}
	}
	if got := len(sys.Ran()); got != 1 {
		t.Errorf("%d runs of ctr for five glances, want 1", got)
	}
	k.set(pod{"u1", "new", "RUNNING"})
	sys.Write(t, "/var/log/pods/kube-system_kube-apiserver-m1_u1/kube-apiserver/0.log", "", 0o644)
	if err := w.try(t.Context()); err != nil {
		t.Errorf("a new log is not noticed at once: %v", err)
	}
}
