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

	"github.com/google/go-cmp/cmp"
)

const cluster = "roles: {master: m1}\nhosts: {m1: {address: 10.0.0.1}, spare: {address: 10.0.0.2}}\n"

// agents has no binaries; variables need only the digest.
type agents struct{}

func (agents) AgentBinary(string) ([]byte, error) { return nil, errors.New("there is none") }
func (agents) AgentGzip(string) ([]byte, error)   { return nil, errors.New("there is none") }
func (agents) AgentDigest(string) (string, error) { return strings.Repeat("a", 64), nil }

// inDir writes files to a new directory and makes it the working directory.
func inDir(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHosts checks that Load selects all hosts, and LoadCluster those with a role in the
// cluster.
func TestHosts(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": cluster})
	for name, c := range map[string]struct {
		load func(string, project.Options) (*project.Project, error)
		want []string
	}{
		"of the cluster": {project.LoadCluster, []string{"m1"}},
		"of playbooks":   {project.Load, []string{"m1", "spare"}},
	} {
		p, err := c.load("inventory.yaml", project.Options{Agents: agents{}})
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Match("all")
		if err != nil || !slices.Equal(p.Hosts, c.want) || !slices.Equal(all, c.want) {
			t.Errorf("%s: hosts %v, all are %v, %v", name, p.Hosts, all, err)
		}
		if masters, err := p.Match("master"); err != nil || !slices.Equal(masters, []string{"m1"}) || p.Cluster == nil || len(p.Needed) == 0 {
			t.Errorf("%s: masters %v, %v, %d artifacts", name, masters, err, len(p.Needed))
		}
		if _, err := p.Variables(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExpressionsInHostVars checks that expressions in variables of the inventory are
// computed for other hosts before the run, with the variables of the command line.
func TestExpressionsInHostVars(t *testing.T) {
	inDir(t, map[string]string{
		"inventory.yaml":      "vars: {base: 80}\nhosts: {a: {vars: {port: '{{ base }}', os: '{{ facts.os }}', next: '{{ hosts.b.vars.port }}'}}, b: {vars: {port: '{{ base + 1 }}'}}}\n",
		"cluster.yaml":        cluster + "vars: {base: 80, port: '{{ base }}'}\n",
		"broken.yaml":         "hosts: {a: }\n",
		"group_vars/all.yaml": "",
	})
	for file, host := range map[string]string{"inventory.yaml": "a", "cluster.yaml": "m1"} {
		p, err := project.Load(file, project.Options{Agents: agents{}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Variables()
		if err != nil {
			t.Fatal(err)
		}
		v.ResolveHostVars(map[string]any{"base": 1})
		v.ResolveHostVars(nil)
		vars := lang.NewVars(v.ForHost(host), map[string]any{"facts": map[string]any{"os": "debian"}})
		if err := vars.PushScope(nil, lang.Everything()); err != nil {
			t.Fatal(err)
		}
		shared := vars.Map()["hosts"].(map[string]any)[host].(map[string]any)["vars"].(map[string]any)
		want := map[string]any{"base": 80, "port": 80}
		if host == "a" {
			want["next"] = 81
		} else {
			want["removed_hooks"] = []any{}
		}
		if diff := cmp.Diff(want, shared); diff != "" {
			t.Errorf("%s: shared variables (- want, + got):\n%s", file, diff)
		}
		if port, _ := vars.Get("port"); port != 80 {
			t.Errorf("%s: port is %v", file, port)
		}
	}
	if err := os.WriteFile("group_vars/all.yaml", []byte("a: 1\nb: '{{ x'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := project.Load("broken.yaml", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Variables()
	if m := (*project.UserError)(nil); !errors.As(err, &m) || !strings.HasPrefix(err.Error(), "group_vars/all.yaml:2:4: ") {
		t.Errorf("a template that does not end: %v", err)
	}
}

// TestUserErrors checks that wrong input is a UserError with its position.
func TestUserErrors(t *testing.T) {
	inDir(t, map[string]string{
		"inventory.yaml":   cluster,
		"hosts.yaml":       "hosts: {a: }\n",
		"typo.yaml":        "hosst: {a: }\n",
		"pods.yaml":        cluster + "cluster: {pods: 10.0.0.0/99}\n",
		"source.yaml":      "hosts: {a: }\nartifacts: {source: nowhere}\n",
		"empty.yaml":       "hosts: {a: }\nartifacts: {architectures: []}\n",
		"bad-task.yaml":    "- hosts: all\n  tasks: [{nosuch: {}}]\n",
		"playbooks/x.yaml": "",
	})
	load := func(file string) error { _, err := project.Load(file, project.Options{}); return err }
	compile := func(file string) error {
		p, err := project.Load("hosts.yaml", project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.OpenPlaybook(file)
		if err == nil {
			_, _, err = p.Compile(b, project.Selection{})
		}
		return err
	}
	_, noCluster := project.LoadCluster("hosts.yaml", project.Options{})
	for want, err := range map[string]error{
		"nowhere.yaml":             load("nowhere.yaml"),
		"typo.yaml:1:":             load("typo.yaml"),
		"pods.yaml:3:":             load("pods.yaml"),
		"source.yaml: ":            load("source.yaml"),
		"empty.yaml:2:":            load("empty.yaml"),
		"no host is a master":      noCluster,
		"reading the playbook":     compile("none.yaml"),
		"playbooks is a directory": compile("playbooks"),
		"bad-task.yaml:2:12: ":     compile("bad-task.yaml"),
	} {
		var userError *project.UserError
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), want) {
			t.Errorf("want a user error %q, got %v", want, err)
		}
	}
}

// TestDigests checks the digests of files that were read, and the present ones of files
// that were not.
func TestDigests(t *testing.T) {
	inDir(t, map[string]string{
		"inventory.yaml": "hosts: {a: }\n", "group_vars/all.yaml": "x: 1\n", "later.tmpl": "x",
		"site.yaml": "- {import_playbook: more.yaml}\n", "more.yaml": "- {hosts: all, tasks: [{template: {src: later.tmpl, dest: /x}}]}\n",
	})
	p, err := project.Load("inventory.yaml", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := func(files map[string]string) []string {
		var out []string
		for path, digest := range files {
			if !filepath.IsAbs(path) || digest != "" && len(digest) != 64 {
				t.Errorf("%q: %q", path, digest)
			}
			out = append(out, project.Relative(path)+map[bool]string{true: " is missing"}[digest == ""])
		}
		slices.Sort(out)
		return out
	}
	b, err := p.OpenPlaybook("site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Compile(b, project.Selection{}); err != nil {
		t.Fatal(err)
	}
	read := []string{"group_vars/all.yaml", "inventory.yaml", "more.yaml", "site.yaml"}
	if diff := cmp.Diff(read, names(p.Digests())); diff != "" {
		t.Error(diff)
	}
	now := p.DigestsNow(map[string]string{project.Absolute("later.tmpl"): "", project.Absolute("site.yaml"): "", project.Absolute("gone"): ""})
	if diff := cmp.Diff([]string{"gone is missing", "group_vars/all.yaml", "inventory.yaml", "later.tmpl", "more.yaml", "site.yaml"}, names(now)); diff != "" {
		t.Error(diff)
	}
}
