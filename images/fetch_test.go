package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/zstd"

	"deployer/resumable"
)

func TestFetchPinsAndResolves(t *testing.T) {
	p := newPublisher(t)
	content := payload(300_000)
	p.put(toolPath, content)
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))

	if _, err := r.Resolve(t.Context(), toolRef); !errors.Is(err, ErrUnpinned) {
		t.Fatalf("before fetch: %v, want ErrUnpinned", err)
	}
	if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Fatal(err)
	}
	blob, err := r.Resolve(t.Context(), toolRef)
	if err != nil {
		t.Fatal(err)
	}
	checkBlob(t, blob, content)

	// A new process with the same lock and store needs no network.
	p.Close()
	lock, err := ReadLock(r.Lock.Path())
	if err != nil {
		t.Fatal(err)
	}
	want := Pin{Ref: toolRef, SHA256: hexOf(content), Size: int64(len(content)), Source: p.URL + toolPath}
	if pin, _ := lock.Pin(toolRef); pin != want {
		t.Errorf("pin is %+v, want %+v", pin, want)
	}
	later := &Resolver{Catalogue: r.Catalogue, Store: r.Store, Lock: lock, Source: r.Source}
	if err := later.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
		t.Error(err)
	}
}

func checkBlob(t *testing.T, blob Blob, content []byte) {
	t.Helper()
	raw, err := os.ReadFile(blob.Path)
	if err != nil || !bytes.Equal(raw, content) {
		t.Errorf("raw content differs (%v)", err)
	}
	compressed, err := os.Open(blob.CompressedPath)
	if err != nil {
		t.Fatal(err)
	}
	defer compressed.Close()
	decoder, err := zstd.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	if unpacked, err := io.ReadAll(decoder); err != nil || !bytes.Equal(unpacked, content) {
		t.Errorf("compressed content differs (%v)", err)
	}
	if blob.Digest != hexOf(content) || blob.Size != int64(len(content)) {
		t.Errorf("blob is %+v", blob)
	}
}

// TestFetchFaults: for every fault of a publisher's server that was seen in practice,
// the result is either the right content or a clear error and nothing in the store.
func TestFetchFaults(t *testing.T) {
	content := payload(200_000)
	half := len(content) / 2
	truncated := func(w http.ResponseWriter, _ *http.Request, content []byte) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:half])
	}
	tests := []struct {
		name    string
		prepare func(p *publisher)
		err     string // part of the error; empty when the fetch must succeed
		asked   string // a required request
	}{
		{"cut once, goes on by range", func(p *publisher) { p.fault(toolPath, 1, truncated) }, "", toolPath + " bytes=100000-"},
		{"server busy twice", func(p *publisher) {
			p.fault(toolPath, 2, func(w http.ResponseWriter, _ *http.Request, _ []byte) { w.WriteHeader(503) })
		}, "", toolPath},
		{"range ignored by the server", func(p *publisher) {
			p.fault(toolPath, 2, func(w http.ResponseWriter, r *http.Request, content []byte) {
				if r.Header.Get("Range") == "" {
					truncated(w, r, content)
					return
				}
				_, _ = w.Write(content)
			})
		}, "", toolPath + " bytes=100000-"},
		{"file shorter on the server", func(p *publisher) { p.files[toolPath] = content[:half] }, "digest mismatch", toolPath},
		{"file tampered with", func(p *publisher) {
			tampered := bytes.Clone(content)
			tampered[half] ^= 1
			p.files[toolPath] = tampered
		}, "digest mismatch", toolPath},
		{"always cut", func(p *publisher) {
			p.fault(toolPath, 99, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
				w.Header().Set("Content-Length", "200000")
				_, _ = w.Write(content[:10])
			})
		}, "tried 5 times", toolPath},
		{"no such file", func(p *publisher) { delete(p.files, toolPath) }, "server answers 404", toolPath},
		{"no checksum file", func(p *publisher) { delete(p.files, toolPath+".sha256") }, "tool.sha256: server answers 404", ""},
		{"checksum file of another file", func(p *publisher) {
			p.files[toolPath+".sha256"] = []byte(hexOf(content) + "  kubelet\n")
		}, "checksum file has no SHA-256 for tool", ""},
		{"checksum file is a web page", func(p *publisher) {
			p.files[toolPath+".sha256"] = []byte("<html>log in first</html>")
		}, "checksum file has no SHA-256 for tool", ""},
		{"checksum file states another digest", func(p *publisher) {
			p.files[toolPath+".sha256"] = []byte(hexOf([]byte("other")))
		}, "digest mismatch", toolPath},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPublisher(t)
			p.put(toolPath, content)
			test.prepare(p)
			r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
			var err error
			synctest.Test(t, func(t *testing.T) { err = r.Fetch(t.Context(), []Ref{toolRef}, nil) })
			if test.asked != "" && p.asked(test.asked) == 0 {
				t.Errorf("no request %q among %q", test.asked, p.requests)
			}
			if test.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				blob, err := r.Resolve(t.Context(), toolRef)
				if err != nil {
					t.Fatal(err)
				}
				checkBlob(t, blob, content)
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), toolRef.String()) {
				t.Errorf("error %v, want one with %q and %q", err, test.err, toolRef)
			}
			if _, err := r.Resolve(t.Context(), toolRef); !errors.Is(err, ErrUnpinned) {
				t.Errorf("after a failed fetch Resolve gives %v", err)
			}
			if stored, err := os.ReadDir(filepath.Join(r.Store.Root(), contentDir)); err != nil || len(stored) > 0 {
				t.Errorf("the store holds %v (%v)", stored, err)
			}
		})
	}
}

// TestFetchWithDigestsOfTheCatalogue: content without a checksum file is compared with the
// digest of the catalogue, and a version without one is refused before the download.
func TestFetchWithDigestsOfTheCatalogue(t *testing.T) {
	content := payload(1000)
	p := newPublisher(t)
	p.files["/v1/list"], p.files["/v2/list"], p.files["/v3/list"] = content, content, content
	c, err := ReadCatalogue(strings.NewReader(fmt.Sprintf("default: v1\nreleases: {v1: {list: v1}}\nartifacts:\n"+
		"- {name: list, kind: file, url: \"%s/{version}/list\", digests: {v1: %s, v2: %s}}", p.URL, hexOf(content), hexOf([]byte("other")))))
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver(t, c, NewUpstream(nil))
	for version, want := range map[string]string{"v1": "", "v2": "digest mismatch", "v3": "the catalogue has none for this version"} {
		ref := Ref{Name: "list", Version: version, Arch: "amd64"}
		err := r.Fetch(t.Context(), []Ref{ref}, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", version, err, want)
		}
		if _, err := r.Resolve(t.Context(), ref); (err == nil) != (want == "") {
			t.Errorf("%s: Resolve gives %v", version, err)
		}
	}
	if p.asked("/v3/list") > 0 {
		t.Error("content without a digest was requested")
	}
}

// TestFetchResumesAfterKill: after a killed download the next run requests only the
// rest. When the partial content belongs to another file, the whole file is fetched
// again.
func TestFetchResumesAfterKill(t *testing.T) {
	content := payload(100_000)
	for name, left := range map[string][]byte{
		"valid partial file":    content[:60_000],
		"invalid partial file":  bytes.Repeat([]byte("x"), 60_000),
		"complete file":         content,
		"file that is too long": bytes.Repeat([]byte("x"), 150_000),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t)
			p.put(toolPath, content)
			r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
			if err := os.WriteFile(partialFile(r.Store, hexOf(content)), left, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
				t.Fatal(err)
			}
			blob, err := r.Resolve(t.Context(), toolRef)
			if err != nil {
				t.Fatal(err)
			}
			checkBlob(t, blob, content)
			wantWhole := map[string]int{"invalid partial file": 1, "file that is too long": 1}[name]
			if whole := p.asked(toolPath); whole != wantWhole {
				t.Errorf("%d requests for the whole file, want %d: %q", whole, wantWhole, p.requests)
			}
		})
	}
}

// stallingSource stalls after the first half of the first content.
type stallingSource struct {
	Source
	half    []byte
	stalled atomic.Bool
}

// Open implements Source.
func (s *stallingSource) Open(ctx context.Context, a Artifact, ref Ref, want Offer, offset int64) (resumable.Content, error) {
	if s.stalled.Swap(true) {
		return s.Source.Open(ctx, a, ref, want, offset)
	}
	content := io.MultiReader(bytes.NewReader(s.half), endlessWait{ctx})
	return resumable.Content{ReadCloser: io.NopCloser(content), Total: 2 * int64(len(s.half))}, nil
}

// endlessWait is a reader that returns no data until its context ends.
type endlessWait struct{ ctx context.Context }

func (w endlessWait) Read([]byte) (int, error) {
	<-w.ctx.Done()
	return 0, context.Cause(w.ctx)
}

// TestFetchEndsAStalledDownload: a download that receives nothing for a minute continues
// with another request.
func TestFetchEndsAStalledDownload(t *testing.T) {
	p := newPublisher(t)
	content := payload(100_000)
	p.put(toolPath, content)
	source := &stallingSource{Source: NewUpstream(nil), half: content[:50_000]}
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), source)
	synctest.Test(t, func(t *testing.T) {
		if err := r.Fetch(t.Context(), []Ref{toolRef}, nil); err != nil {
			t.Fatal(err)
		}
	})
	if p.asked(toolPath+" bytes=50000-") != 1 {
		t.Errorf("there was no request for the rest: %q", p.requests)
	}
}

func TestFetchReportsAllErrorsAndKeepsTheGood(t *testing.T) {
	p := newPublisher(t)
	p.put(toolPath, payload(1000))
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	bundle := Ref{"bundle", "v4.5.6", "amd64"}
	other := Ref{"tool", "v9.9.9", "amd64"}
	err := r.Fetch(t.Context(), []Ref{bundle, toolRef, other}, nil)
	for _, want := range []string{"fetching " + bundle.String(), "fetching " + other.String(), "/SUMS"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if _, err := r.Resolve(t.Context(), toolRef); err != nil {
		t.Error(err)
	}
}

func TestFetchStopsWithItsContext(t *testing.T) {
	p := newPublisher(t)
	p.put(toolPath, payload(1000))
	started := make(chan struct{})
	p.fault(toolPath, 1, func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.(http.Flusher).Flush()
		close(started)
		<-r.Context().Done()
	})
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-started; cancel(errors.New("stopped by the user")) }()
	err := r.Fetch(ctx, []Ref{toolRef}, nil)
	if err == nil || !strings.Contains(err.Error(), "stopped by the user") {
		t.Errorf("error %v does not carry the cause", err)
	}
}

func TestFetchReportsProgress(t *testing.T) {
	p := newPublisher(t)
	p.put(toolPath, payload(100_000))
	r := newResolver(t, testCatalogue(t, p.URL, "registry.invalid"), NewUpstream(nil))
	var seen []Progress
	if err := r.Fetch(t.Context(), []Ref{toolRef}, func(p Progress) { seen = append(seen, p) }); err != nil {
		t.Fatal(err)
	}
	first, last := seen[0], seen[len(seen)-1]
	if first.Phase != Downloading || first.Total != 100_000 || first.Done == 0 {
		t.Errorf("first report is %+v", first)
	}
	if want := (Progress{toolRef, Ready, 100_000, 100_000}); last != want {
		t.Errorf("last report is %+v, want %+v", last, want)
	}
}
