package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/project"
)

// TestProxyCertificate reads the certificate of the proxies from files beside the inventory; the key becomes
// a secret.
func TestProxyCertificate(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DEPLOYER_CACHE", t.TempDir())
	sample := filepath.Join("..", "roles", "testdata", "inventories", "tls")
	for _, name := range []string{"api.crt", "api.key"} {
		content, err := os.ReadFile(filepath.Join(sample, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(tls string, options project.Options) (*project.Project, error) {
		path := filepath.Join(dir, "inventory.yaml")
		text := "cluster: {proxy: {tls: " + tls + "}}\nhosts: {m1: {address: 10.0.0.1}, p1: {address: 10.0.0.2}}\nroles: {master: m1, proxy: p1}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return project.LoadCluster(path, options)
	}
	p, err := load("{certificate_file: api.crt, private_key_file: api.key}", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Cluster.Proxy.TLS; got == nil || got.Port != 443 || !slices.Contains(p.Inventory.Secrets(), got.PrivateKey) {
		t.Errorf("the certificate is %+v", got)
	}
	for tls, want := range map[string]string{
		"{certificate_file: missing, private_key_file: api.key}":              "missing: no such file",
		"{certificate_file: api.crt, certificate: x, private_key: k}":         "exclude each other",
		"{certificate_file: api.key, private_key_file: api.crt}":              "no pair",
		"{certificate_file: api.crt}":                                         "private_key_file",
		"{certificate_file: api.crt, private_key: in-the-clear}":              "would be visible",
		"{certificate_file: api.crt, private_key_file: api.key, port: 70000}": "not a port",
		"{certificate_file: api.crt, private_key: !env KEY}":                  "no pair",
	} {
		t.Setenv("KEY", "secret-key-of-the-environment")
		_, err := load(tls, project.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "inventory.yaml") {
			t.Errorf("%s: %v, want %q in inventory.yaml", tls, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret-key-of") {
			t.Errorf("%s: the error has the key: %v", tls, err)
		}
	}
	// A check of a push has no secrets, and does not miss them.
	unset := project.Options{LookupEnv: func(string) (string, bool) { return "value-of-KEY", true }, IsPlaceholder: func(v string) bool { return v == "value-of-KEY" }}
	if _, err := load("{certificate_file: api.crt, private_key: !env KEY}", unset); err != nil {
		t.Errorf("without the value of the variable: %v", err)
	}
}
