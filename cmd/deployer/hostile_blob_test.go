package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/protocol"
	"deployer/test/fleet"
)

// TestHostileBlobPath checks that a host that requests a path instead of a digest gets
// nothing, learns nothing about files of the controller, and changes none.
func TestHostileBlobPath(t *testing.T) {
	const precious = "precious words of the controller"
	damaged := strings.Repeat("ab", 32) // content of the store that somebody wrote to
	answers := make(chan string, 100)
	evil := func(h *fleet.Host) func(*protocol.Conn, io.Writer) {
		if h.Name != "n002" {
			return nil
		}
		return func(conn *protocol.Conn, _ io.Writer) {
			if _, ok := fleet.Await(conn, protocol.Segment); !ok {
				return
			}
			for i, digest := range []string{damaged, "../../x"} {
				if err := conn.SendJSON(protocol.BlobRequest, uint32(i), protocol.BlobMessage{Digest: digest}); err != nil {
					return
				}
				f, ok := fleet.Await(conn, protocol.BlobEnd, protocol.BlobChunk, protocol.Bye)
				if !ok {
					return
				}
				answers <- string(f.Payload)
			}
		}
	}
	s := newTestSiteWith(t, 2, fleet.Options{Exec: fleet.Hostile(evil)}, map[string]string{
		"cache/x":                          precious,
		"cache/deployer/sha256/" + damaged: precious,
		"site.yaml": `
- hosts: all
  max_fail: {all: 100%}
  tasks:
    - file: {path: /motd, content: "new\n"}
`})
	out, complaints := s.deployer(exitPartial, "run", "site.yaml")
	for _, name := range []string{"x", "deployer/sha256/" + damaged} {
		if got, err := os.ReadFile(filepath.Join("cache", name)); err != nil || string(got) != precious {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	s.fleet.Close()
	close(answers)
	for text := range answers {
		if strings.Contains(text, "/") || strings.Contains(text, "sha256") || strings.Contains(text, "precious") {
			t.Errorf("the host was told %q", text)
		}
	}
	requireTexts(t, out+complaints, "blob-request without a SHA-256")
	if got := s.hostFile(0, "motd"); got != "new\n" {
		t.Errorf("the honest host has %q", got)
	}
}
