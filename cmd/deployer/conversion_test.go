package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree writes files below a directory; a text that begins with -> is a symbolic link.
func writeTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(text, "->"); link {
			if err := os.Symlink(target, at); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertTree: a directory is converted whatever it is called, behind symbolic links
// too, and what its variables say about a value decides how it is printed.
func TestConvertTree(t *testing.T) {
	for _, dir := range []string{"site", "files", "molecule", "tasks"} {
		root := t.TempDir()
		from, into := filepath.Join(root, dir), filepath.Join(root, "new")
		writeTree(t, from, map[string]string{
			"site.yml":                   "- hosts: web\n  strategy: free\n  roles: [app]\n",
			"group_vars":                 "->shared",
			"shared/all.yml":             "debug: yes\n",
			"roles/app/tasks/main.yml":   "- debug: msg=\"{{ debug }} {{ other }}\"\n",
			"roles/app/templates/a.j2":   "{{ debug }} {{ listed | join(',') }}\n",
			"roles/app/files/x.yml":      "a: yes\n",
			"roles/app/molecule/m/x.yml": "- hosts: all\n",
			"circle":                     "->.",
			"gone":                       "->nowhere",
		})
		var out strings.Builder
		if err := newConversion(&out).tree(from, into); err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		for name, want := range map[string]string{
			"group_vars/all.yml":         "debug: true\n",
			"roles/app/tasks/main.yml":   "- debug: {msg: '{{ debug ? \"True\" : \"False\" }} {{ other }}'}\n",
			"roles/app/templates/a.tmpl": "{{ ternary \"True\" \"False\" (not (empty debug)) }} {{ expr `listed | join(\",\")` $ }}\n",
			"roles/app/files/x.yml":      "a: yes\n",
			"roles/app/molecule/m/x.yml": "- hosts: all\n",
		} {
			if got, err := os.ReadFile(filepath.Join(into, name)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v, want %q", dir, name, got, err, want)
			}
		}
		for _, want := range []string{"circle: left out", "gone: left out", "no value: other.", "7 files in "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", dir, want, out.String())
			}
		}
	}
}

// TestConvertNothing: a directory without anything to convert is an error, and leaves no
// copy behind.
func TestConvertNothing(t *testing.T) {
	root := t.TempDir()
	from, into := filepath.Join(root, "docs"), filepath.Join(root, "new")
	writeTree(t, from, map[string]string{"README.md": "x\n", "files/a.yml": "a: 1\n"})
	if err := newConversion(&strings.Builder{}).tree(from, into); err == nil || !strings.Contains(err.Error(), "nothing was converted") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(into); err == nil {
		t.Error("a copy was left")
	}
}

// TestConvertFile: the kind of a single file follows from its content and its directories.
func TestConvertFile(t *testing.T) {
	root := t.TempDir()
	for name, c := range map[string]struct{ in, out string }{
		"files/site.yml":             {"- hosts: web\n  become: yes\n", "- hosts: web\n  become: true\n"},
		"tasks/site/play.yml":        {"- hosts: web\n  become: yes\n", "- hosts: web\n  become: true\n"},
		"roles/a/tasks/main.yml":     {"- apt: name=a\n", "- package: {install_recommends: true, name: a}\n"},
		"roles/a/handlers/sub/x.yml": {"- service: name=a state=restarted\n", "- service: {name: a, state: restarted}\n"},
		"a.j2":                       {"{{ x | upper }}\n", "{{ expr \"x | upper\" $ }}\n"},
	} {
		writeTree(t, root, map[string]string{name: c.in})
		got, err := newConversion(&strings.Builder{}).single(filepath.Join(root, name))
		if err != nil || string(got) != c.out {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.out)
		}
	}
	if !slices.Contains(kinds().Names(), "package") {
		t.Error("there is no module package")
	}
}
