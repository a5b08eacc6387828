package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
)

var updateGolden = flag.Bool("update", false, "rewrite golden files and generated pages")

// runVerb runs one verb and returns its output and exit code.
func runVerb(t *testing.T, constructor func(env) *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	e := env{stdin: strings.NewReader(""), stdout: &out, stderr: &out}
	root := &cobra.Command{Use: "deployer", SilenceUsage: true, SilenceErrors: true}
	root.AddGroup(&cobra.Group{ID: "input", Title: "Before it runs:"})
	cmd := constructor(e)
	root.AddCommand(cmd)
	root.SetArgs(append([]string{cmd.Name()}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.Execute()
	if err != nil {
		out.WriteString("deployer: " + err.Error() + "\n")
	}
	return out.String(), exitCode(err)
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (go test ./cmd/deployer -update rewrites it):\n%s", path, diff)
	}
}

func TestInventoryVerbs(t *testing.T) {
	t.Setenv("TOKEN", "t0ken")
	t.Setenv("HOME", "/home/u")
	t.Chdir("testdata/inventory")
	for name, c := range map[string]struct {
		args string
		code int
	}{
		"list":         {"list", exitOK},
		"list-pattern": {"list minion:!n1", exitOK},
		"list-json":    {"list m1 -o json", exitOK},
		"list-unknown": {"list minon", exitUsage},
		"list-form":    {"list -o xml", exitFailed}, // the root makes it exitUsage
		"show":         {"show n1", exitOK},
		"show-json":    {"show m1 -o json", exitOK},
		"show-unknown": {"show n7", exitUsage},
		"show-nothing": {"show", exitUsage},
		"graph":        {"graph", exitOK},
		"graph-json":   {"graph -o json", exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(strings.Fields(c.args), "-i", "inventory.yaml")
			out, code := runVerb(t, newInventoryCommand, args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, secret := range []string{"s3cret", "t0ken"} {
				if strings.Contains(out, secret) {
					t.Errorf("the secret %s is in the output", secret)
				}
			}
			golden(t, name+".golden", out)
		})
	}
}

func TestInventoryVerbsNeedAFile(t *testing.T) {
	out, code := runVerb(t, newInventoryCommand, "list", "-i", filepath.Join(t.TempDir(), "none.yaml"))
	if code != exitUsage || !strings.Contains(out, "no such file") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestInventoryReferenceIsCurrent(t *testing.T) {
	out, code := runVerb(t, newSchemaCommand, "-o", "markdown")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, out)
	}
	golden(t, "../../docs/reference/inventory.md", out)
}

// TestSchemaAcceptsValidInventories checks that the JSON Schema accepts and rejects the
// same files as the program.
func TestSchemaAcceptsValidInventories(t *testing.T) {
	text, code := runVerb(t, newSchemaCommand)
	if code != exitOK {
		t.Fatal(text)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("inventory.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("inventory.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		`{"hosts": {"m1": {}}, "cluster": {"kubernetes": "v1.36.3", "dns": {"replicas": 2}}, "artifacts": {"source": "upstream"}}`: true,
		`{"hosts": {"m1": {}}, "cluster": {"kubernets": "v1.36.3"}}`:                                                               false,
		`{"hosts": {"m1": {}}, "cluster": {"dns": {"replica": 2}}}`:                                                                false,
		`{"hosts": {"m1": {}}, "artifacts": {"sauce": "upstream"}}`:                                                                false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != valid {
			t.Errorf("%s: valid should be %v: %v", text, valid, err)
		}
	}
}

const openSSHInventory = `
ssh: {config: ssh_config}
hosts:
  m1: {address: 10.0.0.1}
  m3: {ssh: {config: none}}
`

const openSSHConfig = `
Host 10.0.0.*
  User ops
  Port 2222
  ProxyJump jump
`

func TestInventoryShowOpenSSH(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "inventory.yaml")
	for name, content := range map[string]string{file: openSSHInventory, filepath.Join(dir, "ssh_config"): openSSHConfig} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", "/home/u")
	out, code := runVerb(t, newInventoryCommand, "show", "m1", "-i", file)
	for _, want := range []string{"ssh.user             root", "User                 ops ", "OpenSSH (" + dir + "/ssh_config:3)", "ProxyJump            jump "} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, out)
		}
	}
	out, code = runVerb(t, newInventoryCommand, "list", "-i", file)
	if code != 0 || !strings.Contains(out, "ops, port 2222") || !strings.Contains(out, "m3    m3        root ") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
