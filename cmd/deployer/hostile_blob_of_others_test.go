package main

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine/protocol"
	"deployer/test/fleet"
)

// TestHostileBlobOfOthers checks that a host gets the blobs of its own steps in flight
// only, and no blob of another host or step.
func TestHostileBlobOfOthers(t *testing.T) {
	digest := func(seg protocol.Frame) string {
		_, rest, ok := strings.Cut(string(seg.Payload), `"Blob":"`)
		if !ok || len(rest) < 64 {
			return ""
		}
		return rest[:64]
	}
	type answer struct {
		chunks int
		end    string
	}
	var first string // the digest of n001's content, once published
	var once sync.Once
	published := make(chan struct{})
	answers := make(chan map[string]answer, 100)
	evil := func(h *fleet.Host) func(*protocol.Conn, io.Writer) {
		return func(conn *protocol.Conn, _ io.Writer) {
			f, ok := fleet.Await(conn, protocol.Segment)
			if !ok {
				return
			}
			own := digest(f)
			ask := []string{own}
			if h.Name == "n001" {
				once.Do(func() { first = own; close(published) })
			} else {
				select {
				case <-published:
					ask = append(ask, first)
				case <-time.After(20 * time.Second):
				}
			}
			got := map[string]answer{}
			for i, d := range ask {
				if conn.SendJSON(protocol.BlobRequest, uint32(i+1), protocol.BlobMessage{Digest: d}) != nil {
					return
				}
				var a answer
				for {
					f, ok := fleet.Await(conn, protocol.BlobChunk, protocol.BlobEnd)
					if !ok {
						return
					}
					if f.Type == protocol.BlobEnd {
						a.end = string(f.Payload)
						break
					}
					a.chunks++
				}
				got[[]string{"own", "other's"}[i]] = a
			}
			answers <- got
			_ = conn.SendJSON(protocol.Bye, 0, protocol.EndMessage{Error: "enough"})
		}
	}
	s := newTestSiteWith(t, 2, fleet.Options{Exec: fleet.Hostile(evil)}, map[string]string{
		"site.yaml": `
- hosts: all
  max_fail: {all: 100%}
  tasks:
    - template: {src: large.tmpl, dest: /large}
`,
		"templates/large.tmpl": "secret of {{ host.name }}\n" + strings.Repeat("some line of a large file\n", 3000),
	})
	_ = run(t.Context(), []string{"run", "site.yaml"}, strings.NewReader(""), io.Discard, io.Discard)
	s.fleet.Close()
	close(answers)
	own, others := 0, 0
	for got := range answers {
		own++
		if a := got["own"]; a.chunks == 0 || a.end != "{}" {
			t.Errorf("its own content: %+v", a)
		}
		a, asked := got["other's"]
		if !asked {
			continue
		}
		others++
		if a.chunks > 0 || !strings.Contains(a.end, "no such blob for this host") {
			t.Errorf("that of the other host: %+v", a)
		}
	}
	if own < 2 || others < 1 {
		t.Errorf("%d questions for own content, %d for that of the other host", own, others)
	}
}
