package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/tasktest"
)

func hexOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// server serves one content and records the requests. Each of its faults answers one
// request; later requests succeed. It keeps no connection open, so that the waits between
// attempts take no time under the clock of synctest; start it outside of the bubble.
type server struct {
	*httptest.Server
	content string
	faults  []func(w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen []string // "GET PATH RANGE"
}

func newServer(t *testing.T, content string, faults ...func(http.ResponseWriter, *http.Request)) *server {
	t.Helper()
	s := &server{content: content, faults: faults}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
		var fault func(http.ResponseWriter, *http.Request)
		if len(s.faults) > 0 {
			fault, s.faults = s.faults[0], s.faults[1:]
		}
		s.mu.Unlock()
		if fault != nil {
			fault(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(s.content))
	}))
	s.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(s.Close)
	return s
}

// cut sends the first half and closes the connection.
func cut(content string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		fmt.Fprint(w, content[:len(content)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestDownloadIsIdempotent(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789", 10_000)
	half := len(content) / 2
	tests := map[string]struct {
		faults  []func(http.ResponseWriter, *http.Request)
		partial string // what an earlier attempt left
		seen    []string
	}{
		"at once":                    {seen: []string{"/f"}},
		"server in trouble":          {faults: []func(http.ResponseWriter, *http.Request){status(503), status(429)}, seen: []string{"/f", "/f", "/f"}},
		"cut":                        {faults: []func(http.ResponseWriter, *http.Request){cut(content)}, seen: []string{"/f", fmt.Sprintf("/f bytes=%d-", half)}},
		"goes on with what is there": {partial: content[:10], seen: []string{"/f bytes=10-"}},
		"all is there":               {partial: content},
		"server knows no ranges": {partial: content[:10], faults: []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, content) }},
			seen: []string{"/f bytes=10-"}},
		"part of another file": {partial: "something else", seen: []string{"/f bytes=14-", "/f"}},
		"more than there is":   {partial: content + "more", seen: []string{fmt.Sprintf("/f bytes=%d-", len(content)+4), "/f"}},
		"goes on somewhere else": {partial: content[:10], faults: []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 5-9/10")
			w.WriteHeader(http.StatusPartialContent)
		}}, seen: []string{"/f bytes=10-", "/f"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, content, tt.faults...)
			sys := tasktest.New(t)
			sys.Mkdir(t, "/srv")
			if tt.partial != "" {
				sys.Write(t, "/srv/.f.deployer-part-"+hexOf(content)[:12], tt.partial, 0o600)
			}
			synctest.Test(t, func(t *testing.T) {
				change := tasktest.Converge(t, sys, &Host{URL: s.URL + "/f", Dest: "/srv/f", SHA256: hexOf(content), Mode: "0640"})
				if diff := cmp.Diff([]string{"/srv/f: create from " + s.URL + "/f"}, tasktest.Actions(change)); diff != "" {
					t.Error(diff)
				}
			})
			if got := sys.Read(t, "/srv/f"); got != content {
				t.Errorf("%d bytes of other content", len(got))
			}
			if diff := cmp.Diff(tt.seen, s.seen); diff != "" {
				t.Error(diff)
			}
			left, err := os.ReadDir(sys.Path("/srv"))
			if err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if info, err := os.Stat(sys.Path("/srv/f")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func TestDriftIsReplaced(t *testing.T) {
	t.Parallel()
	s := newServer(t, "new")
	sys := tasktest.New(t)
	sys.Exec = tasktest.RealExec
	sys.Write(t, "/srv/f", "old", 0o600)
	m := &Host{URL: s.URL + "/f", Dest: "/srv/f", SHA256: hexOf("new"), Backup: true, Validate: []string{"grep", "-q", "new", "%s"}}
	_, out, err := tasktest.Run(t, sys, m)
	if err != nil || out["backup_file"] != "/srv/f.test~" {
		t.Errorf("%v, %v", out, err)
	}
	if diff := cmp.Diff([]string{"/srv/f", "/srv/f.test~"}, sys.Kept()); diff != "" {
		t.Error("kept:", diff)
	}
	sys.Write(t, "/srv/f", "newer", 0o600)
	tasktest.Converge(t, sys, m)
	m.Mode = "0644"
	s.Close() // a mode needs no network
	tasktest.Converge(t, sys, m)
	sys.Write(t, "/srv/g", "new", 0o644) // nor does a file that somebody else brought
	if change := tasktest.Check(t, sys, &Host{URL: s.URL + "/f", Dest: "/srv/g", SHA256: hexOf("new")}); change.Needed {
		t.Errorf("wants %+v", change.Effects)
	}
}

func TestProxyAndHeaders(t *testing.T) {
	t.Parallel()
	var asked *http.Request
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Clone(context.Background())
		fmt.Fprint(w, "x")
	}))
	t.Cleanup(proxy.Close)
	sys := tasktest.New(t)
	tasktest.Converge(t, sys, &Host{URL: "http://files.invalid/f", Dest: "/f", SHA256: hexOf("x"), Proxy: proxy.URL, Headers: map[string]string{"Authorization": "Bearer t"}})
	if asked.URL.String() != "http://files.invalid/f" || asked.Header.Get("Authorization") != "Bearer t" {
		t.Errorf("the proxy was asked for %s with %v", asked.URL, asked.Header)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, "content", status(404))
	other := newServer(t, "content")
	down := newServer(t, "")
	down.Close()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/srv")
	if err := os.Symlink("/etc/passwd", sys.Path("/srv/link")); err != nil {
		t.Fatal(err)
	}
	digest := hexOf("x")
	for want, m := range map[string]*Host{
		"server answers 404":    {URL: s.URL + "/none", Dest: "/srv/f", SHA256: digest},
		"(7 bytes), not 2d7116": {URL: other.URL + "/f", Dest: "/srv/f", SHA256: digest},
		"connection refused":    {URL: down.URL + "/f", Dest: "/srv/f", SHA256: digest},
		"symbolic link":         {URL: s.URL, Dest: "/srv/link", SHA256: digest},
		"not an http or https":  {URL: "ftp://u:secret@x/f", Dest: "/srv/f", SHA256: digest},
		"64 digits":             {URL: s.URL, Dest: "/srv/f", SHA256: "abc"},
		"proxy is not":          {URL: s.URL, Dest: "/srv/f", SHA256: digest, Proxy: "x"},
		"Range is reserved":     {URL: s.URL, Dest: "/srv/f", SHA256: digest, Headers: map[string]string{"range": "x"}},
		"make it with the dire": {URL: s.URL, Dest: "/none/f", SHA256: digest},
	} {
		var err error
		synctest.Test(t, func(t *testing.T) { _, _, err = tasktest.Run(t, sys, m) })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := os.Lstat(sys.Path("/srv/f")); err == nil {
		t.Error("wrong content was put in place")
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{Web: map[string]string{"https://x/a/f.tgz": "bytes"}}
	digest := hexOf("bytes")
	kind, m, err := (&Download{URL: "https://x/a/f.tgz", Dest: "/srv/", SHA256: strings.ToUpper(digest), Owner: "app"}).Prepare(context.Background(), c)
	if diff := cmp.Diff(engine.Module(&Host{URL: "https://x/a/f.tgz", Dest: "/srv/f.tgz", SHA256: digest, Owner: "app"}), m); kind != "host_download" || err != nil || diff != "" {
		t.Error(kind, err, diff)
	}
	kind, m, err = (&Download{URL: "https://x/a/f.tgz", Dest: "/f", SHA256: digest, Via: "controller", Mode: "0600"}).Prepare(context.Background(), c)
	if diff := cmp.Diff(engine.Module(&file.File{Path: "/f", Blob: digest, Mode: "0600"}), m); kind != "file" || err != nil || diff != "" {
		t.Error(kind, err, diff)
	}
	for want, d := range map[string]*Download{
		"to the controller: https://y": {URL: "https://y", Dest: "/f", SHA256: digest, Via: "controller"},
		"apply to downloads by the":    {URL: "https://x/a/f.tgz", Dest: "/f", SHA256: digest, Via: "controller", Proxy: "http://p"},
		"not an http or https":         {URL: "x", Dest: "/f", SHA256: digest},
		"sha256 \"\"":                  {URL: "https://x", Dest: "/f", Via: "controller"},
	} {
		if _, _, err := d.Prepare(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
