// Package registry runs a real container registry for tests: distribution's
// (github.com/distribution/distribution) on a directory of the test and a port of
// loopback. `make registry` builds it from its Go module, once for a user.
package registry

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"deployer/test/server"
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
	program := server.Make(t, "registry-path")
	if _, err := os.Stat(program); err != nil {
		return "", false
	}
	address = server.FreeAddress(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, filepath.Join(dir, "data"), address), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Start(t, "the registry", func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, "serve", file)
		cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
		return cmd
	}, func(context.Context) error {
		response, err := http.Get("http://" + address + "/v2/")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	return address, true
}
