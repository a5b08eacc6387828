package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/project"
)

// confinedSite writes files into a directory of an unapproved revision, and a secret beside it.
func confinedSite(t *testing.T, files map[string]string) (dir, outside string) {
	t.Helper()
	top := t.TempDir()
	dir, outside = filepath.Join(top, "revision"), filepath.Join(top, "outside")
	files["../outside/secret.yaml"] = "hidden: word-of-another-file\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "OUTSIDE", outside)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, outside
}

const plainInventory = "hosts: {web1: {address: 10.0.0.1}}\n"

// TestConfinedFiles: an unapproved revision reads no file outside of it, by whatever name.
func TestConfinedFiles(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"extends":              {"inventory.yaml": "extends: ../outside/secret.yaml\n" + plainInventory},
		"file of variables":    {"site.yaml": "- {hosts: all, vars_files: [OUTSIDE/secret.yaml], tasks: []}\n"},
		"relative variables":   {"site.yaml": "- {hosts: all, vars_files: [../outside/secret.yaml], tasks: []}\n"},
		"device":               {"site.yaml": "- {hosts: all, vars_files: [/dev/zero], tasks: []}\n"},
		"template":             {"site.yaml": "- {hosts: all, tasks: [{name: t, template: {src: OUTSIDE/secret.yaml, dest: /etc/x}}]}\n"},
		"tasks":                {"site.yaml": "- {hosts: all, tasks: [{name: t, include_tasks: OUTSIDE/secret.yaml}]}\n"},
		"playbook":             {"site.yaml": "- {import_playbook: OUTSIDE/secret.yaml}\n"},
		"metadata of git":      {"site.yaml": "- {hosts: all, vars_files: [.git/config], tasks: []}\n", ".git/config": "hidden: word-of-another-file\n"},
		"template of a role":   {"site.yaml": "- {hosts: all, roles: [r]}\n", "roles/r/tasks/main.yaml": "- {name: t, template: {src: OUTSIDE/secret.yaml, dest: /etc/x}}\n"},
		"computed template":    {"site.yaml": "- {hosts: all, vars: {src: OUTSIDE/secret.yaml}, tasks: [{name: t, template: {src: '{{ src }}', dest: /etc/x}}]}\n"},
		"template of a device": {"site.yaml": "- {hosts: all, tasks: [{name: t, template: {src: /dev/zero, dest: /etc/x}}]}\n"},
		"template of a lookup": {"site.yaml": "- {hosts: all, tasks: [{name: t, debug: {msg: \"{{ lookup('template', 'OUTSIDE/secret.yaml') }}\"}}]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if files["inventory.yaml"] == "" {
				files["inventory.yaml"] = plainInventory
			}
			if files["site.yaml"] == "" {
				files["site.yaml"] = "- {hosts: all, tasks: []}\n"
			}
			dir, _ := confinedSite(t, files)
			in, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{Confined: dir})
			if err == nil || !strings.Contains(err.Error(), project.ErrOutside.Error()) {
				t.Fatalf("got %+v, error %v", in, err)
			}
			if strings.Contains(err.Error(), "word-of-another-file") {
				t.Errorf("the error quotes the file: %v", err)
			}
		})
	}
}

// TestConfinedLinks: a template file that is a link to a file outside of the revision is not read.
func TestConfinedLinks(t *testing.T) {
	t.Parallel()
	dir, outside := confinedSite(t, map[string]string{
		"inventory.yaml":       plainInventory,
		"site.yaml":            "- {hosts: all, tasks: [{name: t, template: {src: linked.tmpl, dest: /etc/x}}]}\n",
		"../outside/file.tmpl": "{{ .word_of_another_file }}",
	})
	if err := os.Symlink(filepath.Join(outside, "file.tmpl"), filepath.Join(dir, "linked.tmpl")); err != nil {
		t.Fatal(err)
	}
	_, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{Confined: dir})
	if err == nil || strings.Contains(err.Error(), "word_of_another_file") || !strings.Contains(err.Error(), "linked.tmpl") {
		t.Errorf("got %v", err)
	}
}

// TestConfinedLookups: a lookup neither makes nor reads a file, and no environment variable.
func TestConfinedLookups(t *testing.T) {
	t.Setenv("SECRET_OF_THE_RUNNER", "value-of-the-environment")
	dir, outside := confinedSite(t, map[string]string{
		"inventory.yaml": `
hosts:
  web1:
    address: 10.0.0.1
    vars:
      made: "{{ lookup('password', 'OUTSIDE/made length=8') }}"
      read: "{{ lookup('file', 'OUTSIDE/secret.yaml') }}"
      variable: "{{ lookup('env', 'SECRET_OF_THE_RUNNER') }}"
      all: "{{ made }}-{{ read }}-{{ variable }}"
`,
		"site.yaml": "- {hosts: all, tasks: [{name: t, debug: {msg: \"{{ lookup('password', 'OUTSIDE/second') }} {{ hosts.web1.vars.all }}\"}}]}\n",
	})
	load := func(confined string) (string, error) {
		p, err := project.Load(filepath.Join(dir, "inventory.yaml"), project.Options{Confined: confined, Playbook: dir})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Variables()
		if err != nil {
			t.Fatal(err)
		}
		v.ResolveHostVars(nil)
		read, err := lang.CompileExpr("hosts.web1.vars.all", lang.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := read.Eval(lang.NewVars(v.ForHost("web1"), nil).Map())
		text, _ := got.(string)
		return text, err
	}
	if got, err := load(dir); !errors.Is(err, lang.ErrLookupUnknown) {
		t.Errorf("the variables have %q, %v", got, err)
	}
	if _, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{Confined: dir}); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("files outside of the revision: %v, error %v", entries, err)
	}
	if got, err := load(""); err != nil || !strings.Contains(got, "word-of-another-file-value-of-the-environment") {
		t.Errorf("an approved revision has %q, %v", got, err)
	}
}

// TestConfinedPassword: the password of a registry is not read for an unapproved revision.
func TestConfinedPassword(t *testing.T) {
	t.Parallel()
	dir, _ := confinedSite(t, map[string]string{
		"inventory.yaml": "cluster: {name: lab, containerd: {credentials: {registry.example: {username: a, password_file: OUTSIDE/secret.yaml}}}}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n",
	})
	p, err := project.LoadCluster(filepath.Join(dir, "inventory.yaml"), project.Options{Confined: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Inventory.Secrets(); !slices.Equal(got, []string{"placeholder"}) {
		t.Errorf("read %q", got)
	}
}

// TestErrorsHideSecrets: a message about a wrong value does not show a value that the
// inventory, or a file of variables, marks as secret.
func TestErrorsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "Hunter2!secret word"
	cluster := func(text string) string {
		return "cluster: {name: lab, " + text + "}\nhosts: {m1: {address: 127.0.0.1}}\nroles: {master: m1}\n"
	}
	for name, c := range map[string]struct{ inventory, playbook string }{
		"version":           {inventory: cluster("kubernetes: !env WORD")},
		"name":              {inventory: "cluster: {name: !env WORD}\nhosts: {m1: {address: 127.0.0.1}}\nroles: {master: m1}\n"},
		"range":             {inventory: cluster("network: {pod_cidr: !env WORD}")},
		"component":         {inventory: cluster("overrides: {kubelet: {cgroupDriver: !env WORD}}")},
		"flag":              {inventory: cluster("overrides: {apiserver: {extra_args: {event-ttl: !env WORD}}}")},
		"address":           {inventory: "hosts: {m1: {address: !env WORD}}\n"},
		"label":             {inventory: "cluster: {name: lab}\nhosts: {m1: {address: 127.0.0.1, labels: {a: !env WORD}}}\nroles: {master: m1}\n"},
		"secret":            {inventory: cluster("kubernetes: !secret '" + secret + "'")},
		"source":            {inventory: "artifacts: {source: !env WORD}\n" + cluster("kubernetes: v1.36.3")},
		"expression":        {inventory: "hosts: {m1: {address: 127.0.0.1, vars: {a: !secret '{{ " + secret + " }}'}}}\n", playbook: "- {hosts: all, tasks: []}\n"},
		"file of variables": {inventory: plainInventory, playbook: "- {hosts: all, vars_files: [vars.yaml], tasks: [{name: t, file: {path: '{{ word }}', state: '{{ word }}'}}]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _ := confinedSite(t, map[string]string{"inventory.yaml": c.inventory, "site.yaml": c.playbook, "vars.yaml": "word: !secret '{{ " + secret + " }}'\n"})
			o := project.Options{LookupEnv: func(string) (string, bool) { return secret, true }, Agents: agents{}}
			var err error
			if file := filepath.Join(dir, "inventory.yaml"); c.playbook == "" {
				_, err = project.LoadCluster(file, o)
			} else {
				_, err = project.ReadPlaybookInputs(file, filepath.Join(dir, "site.yaml"), o)
			}
			if err == nil {
				t.Fatal("the value is accepted")
			}
			for _, part := range []string{"Hunter2", "hunter2", "secret word"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error shows %q: %v", part, err)
				}
			}
		})
	}
}

// TestUnknownLookups: where a lookup decides about the structure of a playbook, or about the value
// of an argument, a check without lookups refuses nothing because of it, says what it could not
// check, and finds the errors that do not depend on it.
func TestUnknownLookups(t *testing.T) {
	t.Parallel()
	const vars = `
hosts:
  web1:
    address: 10.0.0.1
    vars:
      list: "{{ lookup('file', 'OUTSIDE/x') | from_json }}"
      port: "{{ lookup('file', 'OUTSIDE/x') | int + 1 }}"
      state: "{{ lookup('env', 'X') }}"
      nested: {a: "{{ lookup('env', 'X') }}"}
`
	include := func(loop string) string {
		return "- {hosts: all, tasks: [{name: i, include_tasks: more.yaml, loop: \"" + loop + "\"}]}\n"
	}
	const good = "- {name: t, directory: {path: '/x/{{ item }}'}}\n"
	task := func(args string) string { return "- {hosts: all, tasks: [{name: t, " + args + "}]}\n" }
	const note = "site.yaml:1:66: loop at include_tasks: the items are not checked, because they depend on a lookup"
	for name, c := range map[string]struct {
		site, more string
		note, err  string // parts; empty for none
	}{
		"list of JSON":                  {include("lookup('file', 'OUTSIDE/x') | from_json"), good, note, ""},
		"list of YAML":                  {include("lookup('file', 'OUTSIDE/x') | from_yaml"), good, note, ""},
		"arithmetic":                    {include("1..int(lookup('env', 'N')) + 1"), good, note, ""},
		"a key of the value":            {include("(lookup('file', 'OUTSIDE/x') | from_json).hosts[0].names"), good, note, ""},
		"with a default":                {include("lookup('env', 'X') | default('a') | split(',')"), good, note, ""},
		"chosen by a condition":         {include("lookup('env', 'X') == 'y' ? ['a'] : ['b']"), good, note, ""},
		"variable of the inventory":     {include("list"), good, note, ""},
		"variable of another host":      {include("hosts.web1.vars.list"), good, note, ""},
		"tolerant, of another host":     {include("hosts.web1.vars.list ?? []"), good, note, ""},
		"in a mapping of another host":  {include("hosts.web1.vars.nested | dict2items"), good, note, ""},
		"the mapping of another host":   {include("[hosts.web1.vars | to_json]"), good, note, ""},
		"a branch without the lookup":   {include("false ? [lookup('env', 'X')] : ['a']"), good, "", ""},
		"an error of the included file": {include("list"), "- {name: t, fil: {path: /x}}\n", "", `unknown task keyword or module "fil"`},
		"a wrong argument in it":        {include("list"), "- {name: t, file: {path: /x, state: sarted}}\n", "", `"sarted"`},
		"the item decides":              {include("list"), "- {name: t, file: {path: /x, state: '{{ item.state }}'}}\n", note, ""},
		"a loop over the item":          {include("list"), "- {name: j, include_tasks: last.yaml, loop: item.parts, loop_control: {loop_var: part}}\n", "more.yaml:1:45: loop at include_tasks", ""},
		"an error two files below":      {include("list"), "- {name: j, include_tasks: broken.yaml, loop: item.parts, loop_control: {loop_var: part}}\n", "", `unknown task keyword or module "nothing"`},
		"an error of the loop itself":   {include("lits"), good, "", `unknown name "lits"`},
		"variables of the play":         {"- {hosts: all, vars: {names: \"{{ query('file', 'OUTSIDE/x') | map('from_json') | list }}\"}, tasks: [{name: i, include_tasks: more.yaml, loop: names}]}\n", good, "loop at include_tasks", ""},
		"a role":                        {"- {hosts: all, tasks: [{name: i, include_role: r, loop: list}]}\n", good, "loop at include_role", ""},
		"an argument":                   {task("file: {path: /x, state: \"{{ lookup('env', 'X') }}\"}"), good, "", ""},
		"an argument of another host":   {task("file: {path: /x, state: '{{ hosts.web1.vars.state }}', mode: '{{ hosts.web1.vars.port }}'}"), good, "", ""},
		"conditions":                    {task("file: {path: /x}, when: \"int(lookup('env', 'X')) > 3 and from_json(lookup('file', 'y')).a\""), good, "", ""},
		"names of files of variables":   {task("include_vars: \"{{ lookup('env', 'X') }}.yaml\""), good, "", ""},
		"an error in such a file":       {task("include_vars: \"br{{ lookup('env', 'X') }}.yaml\""), good, "", "broken.yaml"},
		"an argument that is known":     {task("file: {path: '/x', state: '{{ wrong }}'}, vars: {wrong: sarted}"), good, "", `"sarted"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _ := confinedSite(t, map[string]string{"inventory.yaml": vars, "site.yaml": c.site, "more.yaml": c.more, "last.yaml": good, "broken.yaml": "- {name: t, nothing: {}}\n",
				"vars/a.yaml": "a: 1\n", "roles/r/tasks/main.yaml": good})
			for _, confined := range []string{dir, ""} { // an unapproved and an approved revision
				in, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{Confined: confined})
				if c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Errorf("confined to %q: got %+v, %v; want an error with %q", confined, in, err, c.err)
					}
					continue
				}
				if err != nil {
					t.Errorf("confined to %q: %v", confined, err)
					continue
				}
				notes := strings.ReplaceAll(strings.Join(in.Unchecked, "\n"), dir+"/", "")
				if !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
					t.Errorf("confined to %q: notes %q, want %q", confined, notes, c.note)
				}
			}
		})
	}
}

// TestConfinedLinksToGit: links within the revision do not lead into the metadata of git, by whatever
// way.
func TestConfinedLinksToGit(t *testing.T) {
	t.Parallel()
	for name, links := range map[string]map[string]string{
		"at once":              {"vars.yaml": ".git/config"},
		"by a chain":           {"vars.yaml": "b/config", "b": ".git"},
		"behind a link":        {"vars.yaml": "dir/../../.git/config", "dir": "shared/deep"},
		"in the way of a file": {"vars.yaml": "top/.git/config", "top": "."},
	} {
		dir, _ := confinedSite(t, map[string]string{"inventory.yaml": plainInventory, "site.yaml": "- {hosts: all, vars_files: [vars.yaml], tasks: []}\n",
			".git/config": "hidden: word-of-another-file\n", "shared/deep/x": ""})
		for link, target := range links {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		in, err := project.ReadPlaybookInputs(filepath.Join(dir, "inventory.yaml"), filepath.Join(dir, "site.yaml"), project.Options{Confined: dir})
		if !strings.Contains(errorText(err), project.ErrOutside.Error()) {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestConfinedArtifacts: the source of artifacts that an unapproved revision names is not opened
// outside of it. Its error would show the content; the versions that it offers are unknown.
func TestConfinedArtifacts(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"OUTSIDE", "OUTSIDE/artifacts.yaml", "../outside", "~/artifacts"} {
		dir, outside := confinedSite(t, map[string]string{
			"inventory.yaml":            "artifacts: {source: '" + source + "'}\ncluster: {name: lab}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n",
			"../outside/artifacts.yaml": "word-of-another-file: 1\n",
		})
		p, err := project.LoadCluster(filepath.Join(dir, "inventory.yaml"), project.Options{Confined: dir})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := p.Artifacts.Source.String(); strings.Contains(got, outside) {
			t.Errorf("%s: opened %s", source, got)
		}
	}
	dir, _ := confinedSite(t, map[string]string{
		"inventory.yaml":     "artifacts: {source: own}\ncluster: {name: lab}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n",
		"own/artifacts.yaml": "wrong: 1\n",
	})
	if _, err := project.LoadCluster(filepath.Join(dir, "inventory.yaml"), project.Options{Confined: dir}); !strings.Contains(errorText(err), "artifact source") {
		t.Errorf("a source in the revision is not checked: %v", err)
	}
}
