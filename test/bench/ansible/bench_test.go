package main

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/inventory"
	modules "deployer/tasks"
	"deployer/test/lab/plan"
)

func testMaterial(t *testing.T) material {
	t.Helper()
	hosts := []plan.Host{{Name: "h1", Address: netip.MustParseAddr("172.31.0.11")}, {Name: "h2", Address: netip.MustParseAddr("172.31.0.12")}}
	m, err := newMaterial(t.TempDir(), plan.Files{Dir: "/lab"}, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSameTasks: deployer and Ansible get the same number of tasks, which
// deployer understands.
func TestSameTasks(t *testing.T) {
	m := testMaterial(t)
	inv, err := inventory.Load(m.path("deployer", "inventory.yaml"), inventory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	library := compile.Compiler{Registry: engine.NewRegistry(modules.Modules()), Match: inv.Match}
	program, err := library.Compile(lang.Tree{FS: os.DirFS(m.path("deployer"))}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(program.Tasks) != tasks {
		t.Errorf("deployer has %d tasks, want %d", len(program.Tasks), tasks)
	}
	text, err := os.ReadFile(m.path("ansible", "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plays []struct{ Tasks []map[string]any }
	if err := yaml.Unmarshal(text, &plays); err != nil {
		t.Fatal(err)
	}
	if len(plays) != 1 || len(plays[0].Tasks) != tasks {
		t.Errorf("Ansible has %d tasks, want %d", len(plays[0].Tasks), tasks)
	}
	for i, task := range plays[0].Tasks {
		if name := program.Tasks[i].Name; task["name"] != name || len(task) != 2 {
			t.Errorf("task %d is %v for Ansible, %q for deployer", i, task, name)
		}
	}
}

// TestSameContent: deployer renders the content that the script contains.
func TestSameContent(t *testing.T) {
	m := testMaterial(t)
	for _, h := range m.hosts {
		vars := m.common()
		vars["index"], vars["host"] = h.index, map[string]any{"name": h.name, "address": h.address}
		for i := 1; i <= templates; i++ {
			tree := lang.Tree{Name: "bench", FS: fstest.MapFS{"x.tmpl": {Data: []byte(goTemplate(i))}}}
			tmpl, err := lang.NewFiles("the benchmark", "", nil, lang.SearchDir{Tree: tree, Dir: ".", Templates: true}).Template("x.tmpl")
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Text(vars)
			if err != nil {
				t.Fatal(err)
			}
			if got != rendered(i, h) {
				t.Errorf("template %d on %s is\n%s\nwant\n%s", i, h.name, got, rendered(i, h))
			}
		}
	}
	if n := len(data(1, 1)); n != 20_000 || data(1, 1) == data(1, 2) {
		t.Errorf("a file has %d bytes", n)
	}
}

func TestScripts(t *testing.T) {
	m := testMaterial(t)
	before := script(m.hosts[0], 1)
	after := script(m.hosts[0], 2)
	if before == after || strings.Replace(after, data(1, 2), data(1, 1), 1) != before {
		t.Error("the versions of the script do not differ in the first file alone")
	}
	for name, text := range map[string]string{
		"script": before, "reset": resetScript(), "look": lookScript(), "everywhere": m.everywhere(func(h string) string { return "/x/" + h }),
	} {
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		tool, output string
		want         int
	}{
		{toolDeployer, "  0.3s  h1  changed  directory 1\nsite.yaml done in 1.4s: 10 hosts, 530 changed, 0 ok, 0 skipped\n", 530},
		{toolAnsible, "PLAY RECAP\nh1 : ok=53   changed=53   unreachable=0\nh10: ok=53   changed=2    unreachable=0\n", 55},
		{toolMitogen, "h1 : ok=53   changed=0    unreachable=0\n", 0},
		{toolFloor, "changed=1\nchanged=1\n", 2},
	} {
		if got, err := changes(c.tool, c.output); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", c.tool, got, err, c.want)
		}
	}
	if _, err := changes(toolFloor, "Killed\n"); err == nil || !strings.Contains(err.Error(), "Killed") {
		t.Errorf("an output that says nothing: %v", err)
	}
}

func TestClosing(t *testing.T) {
	all := times{}
	for _, s := range []float64{9, 1, 2} {
		all.add(toolDeployer, "first", time.Duration(s*float64(time.Second)))
	}
	all.add(toolFloor, "first", 1600*time.Millisecond)
	all.add(toolAnsible, "first", 80*time.Second)
	all.add(toolAnsible, "first", 84*time.Second)
	if got, want := all.summaryLine("first"), "first x_floor=1.25 x_ansible=41 x_mitogen=-"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	all.add(toolMitogen, "first", 13*time.Second)
	if got, want := all.summaryLine("first"), "first x_floor=1.25 x_ansible=41 x_mitogen=6.50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want := "deployer      2.00 (1.00 to 9.00)"
	if got := all.table("seconds", []string{toolDeployer}); !strings.Contains(got, want) {
		t.Errorf("table\n%s\nwants %q", got, want)
	}
}
