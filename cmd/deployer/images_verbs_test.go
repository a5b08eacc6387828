package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestImagesFromFileToProduction: an image of a user goes from its file to
// production: it is built on an image of the project, is not promoted before its
// tests have passed, and not to production before a cluster has proved it.
func TestImagesFromFileToProduction(t *testing.T) {
	if _, err := exec.LookPath("runc"); err != nil || os.Geteuid() != 0 {
		t.Skip("tests of images need root and runc")
	}
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	write := func(test string) {
		content := "name: mine\nimage: team/mine\nversion: \"7\"\nbase: pause\nuser: \"5:5\"\nfiles: [{path: /etc/motd, content: hello}]\ntests:\n" + test
		if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	call := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		args = append([]string{"images"}, args...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &out); code != want {
			t.Fatalf("deployer %q ended with %d:\n%s", args, code, out.String())
		}
		return out.String()
	}
	expect := func(output string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(output, part) {
				t.Errorf("output lacks %q:\n%s", part, output)
			}
		}
	}
	write("  - {name: fails, command: [/pause, x], exit: 9}\n")
	expect(call(0, "graph", "--images", dir), "scratch\n", "  pause: pause/pause\n    e2e-pause\n    mine\n")
	expect(call(0, "graph", "--images", dir, "-o", "dot"), `"pause" -> "mine";`)
	expect(call(0, "build", "mine", "--images", dir), "2 images built")
	expect(call(0, "build", "mine", "--images", dir), "0 images built")
	expect(call(0, "outdated", "--images", dir), "every locked package is what apt offers")
	expect(call(1, "promote", "mine", "--images", dir, "--registry", address), "promoting ")

	write("  - {name: sleeps, command: [/pause], still_running: true}\n  - {name: no shell, command: [/bin/sh], exit: 1, output: no such file}\n")
	expect(call(0, "push", "mine", "--images", dir, "--registry", address), "team/mine:7-testing@sha256:")
	expect(call(1, "promote", "mine", "--images", dir, "--registry", address), "its tests are not green")
	expect(call(0, "test", "mine", "--images", dir), "sleeps: ok", "no shell: ok")
	expect(call(0, "test", "mine", "--images", dir), "tested before")
	call(0, "push", "mine", "--images", dir, "--registry", address)
	expect(call(0, "promote", "mine", "--images", dir, "--registry", address), "team/mine:7-staging@sha256:")
	inventory := filepath.Join(t.TempDir(), "staging.yaml")
	if err := os.WriteFile(inventory, []byte("cluster: {name: staging}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1, minion: m1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(call(1, "promote", "mine", "--images", dir, "--registry", address, "--to", "production", "-i", inventory), "the cluster of "+inventory+" does not use team/mine:7")
	expect(call(0, "promote", "mine", "--images", dir, "--registry", address, "--to", "production", "--without-verify"), "team/mine:7@sha256:")

	expect(call(2, "push", "mine", "--images", dir), "--registry is missing")
	expect(call(1, "test", "nonesuch", "--images", dir), `no image "nonesuch"`)
	expect(call(1, "build", "--changed", "opnssl", "--images", dir), "opnssl is neither an image")
}
