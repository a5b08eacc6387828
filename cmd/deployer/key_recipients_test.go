package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"deployer/secrets"
)

// TestKeyRecipients: flags take the place of the inventory, and keys are saved when a
// recipient is named.
func TestKeyRecipients(t *testing.T) {
	t.Parallel()
	var public []string
	for range 3 {
		_, key, err := secrets.Generate()
		if err != nil {
			t.Fatal(err)
		}
		public = append(public, key)
	}
	dir := t.TempDir()
	file, empty := filepath.Join(dir, "team"), filepath.Join(dir, "empty")
	for path, text := range map[string]string{file: "# the team\n" + public[1] + "\n", empty: "# nobody\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		args      string
		inventory []string
		want      []any
		wrong     string
	}{
		"no recipients":                      {"", nil, []any{}, ""},
		"recipients of the inventory":        {"", public[:1], []any{public[0]}, ""},
		"--with-keys":                        {"--with-keys", public[:1], []any{public[0]}, ""},
		"--with-keys=false":                  {"--with-keys=false", public[:1], []any{}, ""},
		"--recipient":                        {"--recipient " + public[2], public[:1], []any{public[2]}, ""},
		"--recipient and --recipients-file":  {"--recipient " + public[2] + " --recipients-file " + file, public[:1], []any{public[2], public[1]}, ""},
		"--with-keys without recipients":     {"--with-keys", nil, nil, "name who can open the keys"},
		"--with-keys=false and --recipient":  {"--with-keys=false --recipient " + public[2], nil, nil, "exclude each other"},
		"invalid --recipient":                {"--recipient age1x", nil, nil, "no public key of age or SSH"},
		"invalid recipient of the inventory": {"", []string{"age1x"}, nil, "no public key of age or SSH"},
		"missing --recipients-file":          {"--recipients-file /none", nil, nil, "no such file"},
		"empty --recipients-file":            {"--recipients-file " + empty, nil, nil, "names no public key"},
	} {
		var k keyRecipients
		cmd := &cobra.Command{}
		k.flags(cmd)
		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		got, err := k.list(cmd, tt.inventory)
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) || exitCode(err) != exitUsage) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPrintKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		snapshot string
		with     bool
		want     string
	}{
		{"m1:/x/1.db", true, "keys of the cluster: m1:/x/1.keys.age\n"},
		{"m1:/x/1.db", false, "without the keys of the cluster: the snapshot is of use while a master is left; --recipient adds the keys, encrypted\n"},
		{"", true, ""},
	} {
		var out bytes.Buffer
		(&keyRecipients{}).print(&out, tt.snapshot, tt.with)
		if out.String() != tt.want {
			t.Errorf("%+v: %q", tt, out.String())
		}
	}
}

// TestRestoreKeyFiles: paths are absolute for a resume elsewhere, and exist.
func TestRestoreKeyFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("x.keys.age", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		o     restoreOptions
		wrong string
	}{
		"keys and identity":         {restoreOptions{keys: "x.keys.age", identity: "x.keys.age"}, ""},
		"keys without identity":     {restoreOptions{keys: "x.keys.age"}, ""},
		"neither keys nor identity": {restoreOptions{}, ""},
		"identity without keys":     {restoreOptions{identity: "x.keys.age"}, "name that, too"},
		"missing keys file":         {restoreOptions{keys: "none"}, "--keys: "},
	} {
		err := tt.o.keyFiles()
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) || exitCode(err) != exitUsage) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if want := filepath.Join(dir, "x.keys.age"); err == nil && tt.o.keys != "" && tt.o.keys != want {
			t.Errorf("%s: %s, want %s", name, tt.o.keys, want)
		}
	}
}
