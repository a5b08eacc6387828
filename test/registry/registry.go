// Package registry runs a real container registry for tests: distribution's
// (github.com/distribution/distribution) on a directory of the test and a port of
// loopback. `make registry` builds it from its Go module, once for a user.
package registry

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// config is the configuration of the registry: files in a directory, and deletion of
// nothing.
const config = `version: 0.1
log: {level: error}
storage:
  filesystem: {rootdirectory: %q}
http:
  addr: %s
`

// Start starts a registry, which ends with the test, and returns its address. It returns
// false when the registry was not built.
func Start(t testing.TB) (address string, ok bool) {
	t.Helper()
	program := binary(t)
	if _, err := os.Stat(program); err != nil {
		return "", false
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, filepath.Join(dir, "data"), address), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context())) // t's ends before the cleanup
	cmd := exec.CommandContext(ctx, program, "serve", file)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() { _ = cmd.Wait() }) // it is killed
	t.Cleanup(func() {
		stop()
		ended.Wait()
		if t.Failed() {
			t.Logf("the registry:\n%s", log.String())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/v2/")
		if err == nil {
			_ = answer.Body.Close()
			return address, true
		}
		if time.Now().After(deadline) {
			t.Fatalf("the registry does not answer: %v", err)
		}
	}
}

// binary returns the path at which `make registry` puts the registry.
func binary(t testing.TB) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("finding the module's directory: %v", err)
	}
	path, err := exec.CommandContext(t.Context(), "make", "-s", "-C", strings.TrimSpace(string(root)), "registry-path").Output()
	if err != nil {
		t.Fatalf("asking make for the registry: %v", err)
	}
	return strings.TrimSpace(string(path))
}
