package images

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// publisher is a local server with the layout of the publishers, and with faults by
// path. It keeps no connection open, so that the waits between attempts take no time
// under the clock of synctest; start it outside of the bubble.
type publisher struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	faults   map[string]func(http.ResponseWriter, *http.Request, []byte) bool
	requests []string // "path" or "path Range"
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{files: map[string][]byte{}, faults: map[string]func(http.ResponseWriter, *http.Request, []byte) bool{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	p.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	content, ok := p.files[r.URL.Path]
	fault := p.faults[r.URL.Path]
	p.requests = append(p.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	p.mu.Unlock()
	if fault != nil && fault(w, r, content) {
		return
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// put publishes a file and its checksum file.
func (p *publisher) put(path string, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path] = content
	p.files[path+".sha256"] = []byte(hexOf(content) + "\n")
}

// fault handles the next times requests of path; do returns false to let the
// request pass.
func (p *publisher) fault(path string, times int, do func(w http.ResponseWriter, r *http.Request, content []byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[path] = func(w http.ResponseWriter, r *http.Request, content []byte) bool {
		p.mu.Lock()
		left := times
		times--
		p.mu.Unlock()
		if left <= 0 {
			return false
		}
		do(w, r, content)
		return true
	}
}

func (p *publisher) asked(request string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.requests {
		if r == request {
			n++
		}
	}
	return n
}

// testCatalogue has one artifact of each kind; base is the publisher's address
// and registry its image registry.
func testCatalogue(t *testing.T, base, registry string) *Catalogue {
	t.Helper()
	c, err := ReadCatalogue(strings.NewReader(fmt.Sprintf(`
default: v1.2.3
releases:
  v1.2.3: {bundle: v4.5.6}
artifacts:
  - {name: tool, kind: file, follows: kubernetes, url: "%[1]s/release/{version}/{arch}/tool", sums: "%[1]s/release/{version}/{arch}/tool.sha256"}
  - {name: bundle, kind: archive, url: "%[1]s/bundle-{number}.tgz", sums: "%[1]s/SUMS", members: [bin/bundle]}
  - {name: picture, kind: image, follows: kubernetes, image: "%[2]s/team/picture:{version}"}
`, base, registry)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const toolPath = "/release/v1.2.3/amd64/tool"

var toolRef = Ref{Name: "tool", Version: "v1.2.3", Arch: "amd64"}

// newResolver returns a resolver with a fresh store and lock file.
func newResolver(t *testing.T, c *Catalogue, source Source) *Resolver {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := ReadLock(filepath.Join(t.TempDir(), LockName))
	if err != nil {
		t.Fatal(err)
	}
	return &Resolver{Catalogue: c, Store: store, Lock: lock, Source: source}
}

// payload returns content without repetitions, so that a wrong offset is detected.
func payload(size int) []byte {
	content := make([]byte, 0, size+32)
	for sum := sha256.Sum256([]byte("payload")); len(content) < size; sum = sha256.Sum256(sum[:]) {
		content = append(content, sum[:]...)
	}
	return content[:size]
}

func hexOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// partialFile returns the path of an incomplete download in the store.
func partialFile(s *Store, key string) string { return filepath.Join(s.Root(), partialDir, key) }
