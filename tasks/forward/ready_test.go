package forward

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/tasktest"
)

// server answers ok while it is up, and 502 otherwise.
func server(t *testing.T, up *atomic.Bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if up.Load() {
			_, _ = w.Write([]byte("ok"))
			return
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const manifest = "/etc/kubernetes/manifests/api-proxy.yaml"

func host(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Exec = tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"proxy.service": {Active: "active"}}).Exec
	sys.Write(t, manifest, "metadata: {name: api-proxy, namespace: kube-system, annotations: {deployer/hash: a}}\nspec: {containers: [{name: api-proxy}]}\n", 0o600)
	sys.Write(t, "/var/log/pods/kube-system_api-proxy-n1_1/api-proxy/0.log", "bind() to 127.0.0.1:7443 failed\n", 0o644)
	return sys
}

func TestProxyIsReady(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	url := server(t, &up)
	gate := &Ready{HTTP: httpcheck.HTTP{URL: url}, Manifest: manifest, Timeout: 10 * time.Second}
	sys := host(t)
	change := tasktest.Check(t, sys, gate)
	if !change.Needed || !change.Wait {
		t.Fatalf("it answers 502: %+v", change)
	}
	time.AfterFunc(300*time.Millisecond, func() { up.Store(true) })
	if out, err := gate.Apply(t.Context(), sys, change); err != nil || out["forwarded"] != true {
		t.Errorf("%v, %v", out, err)
	}
	if change := tasktest.Check(t, sys, gate); change.Needed {
		t.Error("a proxy that answers is waited for")
	}
}

func TestWrongPortIsAnErrorOfTheProxy(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	up.Store(true)
	direct := server(t, &up)
	for name, gate := range map[string]*Ready{
		"bind() to 127.0.0.1:7443 failed": {Manifest: manifest},
		"line of the journal":             {Unit: "proxy.service"},
	} {
		gate.HTTP, gate.Direct, gate.Timeout = httpcheck.HTTP{URL: "http://127.0.0.1:1/readyz"}, []string{"http://127.0.0.1:1", direct}, 300*time.Millisecond
		_, err := gate.Apply(t.Context(), host(t), engine.Change{})
		failure, ok := err.(*engine.Failure) //nolint:errorlint // the module's own
		if !ok || !strings.Contains(failure.Message, "no request passes through http://127.0.0.1:1/readyz") ||
			!strings.Contains(failure.Message, "a server behind it answers when it is asked directly") || !strings.Contains(failure.Detail, name) {
			t.Errorf("%v\n%+v", err, failure)
		}
	}
}

func TestProxyIsSkippedWhenNoServerResponds(t *testing.T) {
	t.Parallel()
	gate := &Ready{HTTP: httpcheck.HTTP{URL: "http://127.0.0.1:1"}, Direct: []string{"http://127.0.0.1:1"}, Unit: "proxy.service"}
	out, err := gate.Apply(t.Context(), host(t), engine.Change{})
	if err != nil || out["forwarded"] != false || !strings.Contains(out["why"].(string), "no server behind the proxy answers") || out["elapsed_seconds"].(float64) > 13 {
		t.Errorf("%v, %v", out, err)
	}
}

func TestMissingProxyIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, gate := range []*Ready{{Unit: "other.service"}, {Manifest: "/none.yaml"}} {
		gate.HTTP.URL = "http://127.0.0.1:1"
		if change := tasktest.Check(t, host(t), gate); change.Needed {
			t.Errorf("%+v is waited for", gate)
		}
	}
}
