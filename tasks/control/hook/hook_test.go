package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
)

// newContext returns the context of host n1 in cluster production.
func newContext() *actiontest.Context {
	return &actiontest.Context{Name: "n1", Run: "r1", Values: map[string]any{
		"host": map[string]any{"address": "10.0.0.1"}, "cluster": map[string]any{"name": "production"}}}
}

// apply checks and applies a hook.
func apply(ctx context.Context, h *Hook) (engine.Output, error) {
	change, err := h.Check(ctx, newContext())
	if err != nil {
		return nil, err
	}
	return h.Apply(ctx, newContext(), change)
}

// all returns message and detail of an error.
func all(err error) string {
	if f, ok := errors.AsType[*engine.Failure](err); ok {
		return f.Message + "\n" + f.Detail
	}
	return err.Error()
}

func TestCommandHasTheHostInItsEnvironment(t *testing.T) {
	t.Parallel()
	h := New()
	h.Phase, h.Env = "before", map[string]string{"POOL": "web"}
	h.Command = []string{"sh", "-c", `echo $DEPLOYER_HOST $DEPLOYER_ADDRESS $DEPLOYER_CLUSTER $DEPLOYER_PHASE $DEPLOYER_RUN $POOL "$1"; echo note >&2`, "x", "a  b"}
	out, err := apply(t.Context(), h)
	if err != nil || out["stdout"] != "n1 10.0.0.1 production before r1 web a  b\n" || out["stderr"] != "note\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestCommandThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command []string
		timeout time.Duration
		want    []string
	}{
		"exit code":                           {[]string{"sh", "-c", "echo gone; echo no room >&2; exit 3"}, time.Minute, []string{"on the controller: exit code 3", "gone", "no room"}},
		"missing program":                     {[]string{"/no/such/program"}, time.Minute, []string{"/no/such/program on the controller: ", "no such file"}},
		"time limit exceeded":                 {[]string{"sh", "-c", "echo waiting; sleep 60"}, 100 * time.Millisecond, []string{"on the controller: not done within 100ms", "waiting"}},
		"ignores TERM":                        {[]string{"sh", "-c", "trap '' TERM; sleep 60 & exec sleep 0.2"}, 50 * time.Millisecond, []string{"not done within 50ms"}},
		"much output":                         {[]string{"sh", "-c", "seq 1 20000; exit 1"}, time.Minute, []string{"19999\n20000"}},
		"a background child holds the output": {[]string{"sh", "-c", "sleep 60 & exit 4"}, 300 * time.Millisecond, []string{"on the controller: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := apply(t.Context(), &Hook{Command: c.command, Timeout: c.timeout})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(all(err), want) {
					t.Errorf("%q lacks %q", all(err), want)
				}
			}
			if len(all(err)) > 3*maxOutput || time.Since(began) > 20*time.Second {
				t.Errorf("%d bytes of output after %s", len(all(err)), time.Since(began))
			}
		})
	}
}

// TestCommandMayLeaveADaemon checks that a program succeeds although its child holds
// its output open.
func TestCommandMayLeaveADaemon(t *testing.T) {
	t.Parallel()
	h := New()
	h.Command = []string{"sh", "-c", "echo started; sleep 7 &"}
	out, err := apply(t.Context(), h)
	if err != nil || out["stdout"] != "started\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestInterruptTerminatesTheProgram checks that no child of a program outlives an
// interrupt.
func TestInterruptTerminatesTheProgram(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(errors.New("interrupted by the user")) })
	h := New()
	h.Command = []string{"sh", "-c", `(sleep 1; touch "$1") & wait`, "x", mark}
	if _, err := apply(ctx, h); err == nil || !strings.Contains(err.Error(), "interrupted by the user") {
		t.Errorf("%v", err)
	}
	time.Sleep(1200 * time.Millisecond)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the child went on")
	}
}

func TestCheckRunsNothing(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	h := New()
	h.Command = []string{"touch", mark}
	change, err := h.Check(t.Context(), newContext())
	if err != nil || !change.Needed || change.Effects[0].Kind != engine.EffectCommand || change.Effects[0].Target != "touch "+mark {
		t.Errorf("%+v, %v", change, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the check ran the program")
	}
}

// request is a request that a server received.
type request struct {
	method, body string
	header       http.Header
}

// serve returns a server that answers with a status and a text.
func serve(t *testing.T, status int, answer func(*http.Request) string) (url string, got *request) {
	t.Helper()
	got = &request{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = request{r.Method, string(body), r.Header}
		if status == http.StatusFound {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer(r))
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func TestRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("Bearer s3cr3t-of-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LB_KEY", "s3cr3t-of-env")
	echo := func(r *http.Request) string {
		return "you sent " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + " and " + r.Header.Get("X-Key")
	}
	for name, c := range map[string]struct {
		status int
		accept []int
		fails  string
	}{
		"success":              {200, nil, ""},
		"another success":      {204, nil, ""},
		"expected":             {404, []int{404, 200}, ""},
		"unexpected":           {200, []int{404}, "answered 200 OK: you sent [secret] and [secret]"},
		"a server error":       {500, nil, "answered 500 Internal Server Error: you sent [secret] and [secret]"},
		"a redirect":           {302, nil, "answered 302 Found"},
		"an expected redirect": {302, []int{302}, ""},
	} {
		url, got := serve(t, c.status, echo)
		h := New()
		h.HTTP = &Request{URL: url, Headers: map[string]string{"Content-Type": "application/json"}, Body: `{"node": "n1"}`, Status: c.accept,
			Secrets: map[string]Source{"Authorization": {File: file}, "X-Key": {Env: "LB_KEY"}}}
		out, err := apply(t.Context(), h)
		if c.fails == "" && (err != nil || out["status"] != c.status) || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the error has a secret: %v", name, err)
		}
		if got.method != "POST" || got.body != `{"node": "n1"}` || got.header.Get("Content-Type") != "application/json" ||
			got.header.Get("Authorization") != "Bearer s3cr3t-of-file" || got.header.Get("X-Key") != "s3cr3t-of-env" {
			t.Errorf("%s: the server got %+v", name, got)
		}
	}
}

func TestRequestThatIsLate(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	url, _ := serve(t, 200, func(r *http.Request) string {
		select {
		case <-free:
		case <-r.Context().Done():
		}
		return ""
	})
	_, err := apply(t.Context(), &Hook{HTTP: &Request{URL: url, Method: "GET"}, Timeout: 100 * time.Millisecond})
	close(free)
	if err == nil || err.Error() != "GET "+url+": not done within 100ms" {
		t.Errorf("%v", err)
	}
}

func TestHookErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook Hook
		want string
	}{
		"neither command nor http": {Hook{Timeout: 1}, "want command or http"},
		"command and http":         {Hook{Timeout: 1, Command: []string{"x"}, HTTP: &Request{URL: "http://a"}}, "two hooks"},
		"no time limit":            {Hook{Command: []string{"x"}}, "a hook needs a time limit"},
		"env of http":              {Hook{Timeout: 1, HTTP: &Request{URL: "http://a"}, Env: map[string]string{"A": "b"}}, "env is for command"},
		"no URL":                   {Hook{Timeout: 1, HTTP: &Request{URL: "a/b"}}, `"a/b" is no http or https URL`},
		"password":                 {Hook{Timeout: 1, HTTP: &Request{URL: "http://u:p@a"}}, "the URL has a password"},
		"no source":                {Hook{Timeout: 1, HTTP: &Request{URL: "http://a", Secrets: map[string]Source{"X": {}}}}, "secret_headers: X: want file or env"},
		"header twice":             {Hook{Timeout: 1, HTTP: &Request{URL: "http://a", Headers: map[string]string{"X": "1"}, Secrets: map[string]Source{"X": {Env: "Y"}}}}, "leave one out"},
		"empty env":                {Hook{Timeout: time.Second, HTTP: &Request{URL: "http://a", Secrets: map[string]Source{"X": {Env: "NO_SUCH_VARIABLE"}}}}, "secret_headers: X: $NO_SUCH_VARIABLE is empty"},
		"missing file":             {Hook{Timeout: time.Second, HTTP: &Request{URL: "http://a", Secrets: map[string]Source{"X": {File: "/no/such"}}}}, "secret_headers: X: open /no/such"},
		"missing CA":               {Hook{Timeout: time.Second, HTTP: &Request{URL: "https://a", CA: "/no/such"}}, "reading the CA certificates: open /no/such"},
		"connection refused":       {Hook{Timeout: time.Second, HTTP: &Request{URL: "http://127.0.0.1:1/x"}}, "POST http://127.0.0.1:1/x: "},
	} {
		if _, err := apply(t.Context(), &c.hook); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
