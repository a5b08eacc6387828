package compile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/lang"
)

// TestLookups: lookups read files and templates of the playbook or role; a password
// is created once.
func TestLookups(t *testing.T) {
	t.Setenv("LANG_TEST", "from the environment")
	dir := t.TempDir()
	for name, text := range map[string]string{"files/x.txt": "content\n", "templates/x.tmpl": "port {{ port }}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	site := `- hosts: all
  vars: {port: 80, key: "{{ lookup('file', 'x.txt') }}"}
  tasks:
    - file: {path: "{{ key }}|{{ lookup('env', 'LANG_TEST') }}|{{ lookup('template', 'x.tmpl') }}|{{ lookup('password', 'secrets/db length=12 chars=digits') }}"}
`
	if err := os.WriteFile(filepath.Join(dir, "site.yaml"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	path := func() string {
		lib := &Compiler{Registry: registry()}
		p, err := lib.Compile(lang.Tree{FS: os.DirFS(dir), Dir: dir}, "site.yaml")
		if err != nil {
			t.Fatal(err)
		}
		v := lang.NewVars(map[string]any{}, nil)
		if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
			t.Fatal(err)
		}
		args, err := p.Tasks[0].BuildArgs(v)
		if err != nil {
			t.Fatal(err)
		}
		return args.(*fileArgs).Path
	}
	got := path()
	head, made, _ := strings.Cut(got, "|port 80|")
	if head != "content|from the environment" || len(made) != 12 || strings.Trim(made, "0123456789") != "" {
		t.Errorf("got %q", got)
	}
	if again := path(); again != got {
		t.Errorf("another password: %q, %q", got, again)
	}
	if info, err := os.Stat(filepath.Join(dir, "secrets/db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
