// Package registry runs a real container registry for tests: distribution's
// (github.com/distribution/distribution) on a directory of the test. `make registry` builds
// it from its Go module, once for a user.
package registry

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"deployer/test/server"
)

// config is the configuration of the registry: it stores files in a directory, and
// deletes nothing.
const config = `version: 0.1
log: {level: error}
storage:
  filesystem: {rootdirectory: %q}
http:
  addr: %s
`

// Start starts a registry without passwords on a free port of loopback. The registry ends
// with the test. It returns false when the registry was not built.
func Start(t testing.TB) (address string, ok bool) {
	t.Helper()
	program := server.Make(t, "registry-path")
	if _, err := os.Stat(program); err != nil {
		return "", false
	}
	address = server.FreeAddress(t)
	start(t, &server.Machine{}, program, address, "", func(context.Context) error { return answers(http.DefaultClient, "http://"+address) })
	return address, true
}

// StartOpen starts a registry without passwords and encryption on an address of a network.
// It ends the test when the registry was not built.
func StartOpen(t testing.TB, network server.Network, address string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
	t.Cleanup(client.CloseIdleConnections)
	start(t, network, built(t), address, "", func(context.Context) error { return answers(client, "http://"+address) })
}

// built returns the program of the registry.
func built(t testing.TB) string {
	t.Helper()
	program := server.Make(t, "registry-path")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run `make registry` first", err)
	}
	return program
}

// StartPrivate starts a registry on an address of a network that requires a user and
// a password, and has a certificate. It ends the test when the registry was not
// built.
func StartPrivate(t testing.TB, network server.Network, address string, certificate server.Certificate, user, password string) {
	t.Helper()
	dir := t.TempDir()
	certificate.Write(t, dir)
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(dir, "htpasswd")
	if err := os.WriteFile(users, fmt.Appendf(nil, "%s:%s\n", user, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: certificate.Transport(t, network)}
	more := fmt.Sprintf("  tls: {certificate: %q, key: %q}\nauth:\n  htpasswd: {realm: test, path: %q}\n", filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"), users)
	start(t, network, built(t), address, more, func(context.Context) error { return answers(client, "https://"+address) })
}

// start starts the registry with more lines of configuration.
func start(t testing.TB, network server.Network, program, address, more string, ready func(context.Context) error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config+"%s", filepath.Join(dir, "data"), address, more), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Start(t, "the registry", func(ctx context.Context) *exec.Cmd {
		cmd := network.Command(ctx, program, "serve", file)
		cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
		return cmd
	}, ready)
}

// answers returns nil when a registry answers a request to its API; a refusal is an
// answer, too.
func answers(client *http.Client, url string) error {
	response, err := client.Get(url + "/v2/")
	if err != nil {
		return err
	}
	return response.Body.Close()
}
