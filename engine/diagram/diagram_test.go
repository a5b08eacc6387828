package diagram_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/diagram"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/tasks"
)

var update = flag.Bool("update", false, "write the golden files")

// playbook has every construct at which hosts wait for each other.
const playbook = `
- name: examine
  hosts: all
  tasks:
    - {name: look, command: {argv: ["true"]}}
    - {name: decide, command: {argv: ["true"]}, run_once: true, barrier: true}
- name: masters
  hosts: master
  serial: [1, 50%]
  tasks:
    - {name: start, command: {argv: ["true"]}, throttle: 2}
    - {name: ready, command: {argv: ["true"]}, label: api-ready}
    - name: plain block
      block:
        - {name: inside, command: {argv: ["true"]}}
- name: nodes
  hosts: node
  roles: [web]
  tasks:
    - name: kubelet
      needs: [{label: api-ready, count: 1}]
      rollout: {canary: [minion], max_parallel: 10%, one_at_a_time: [master]}
      label: kubelet-changed
      block:
        - {name: configuration, command: {argv: ["true"]}}
        - {name: restart, command: {argv: ["true"]}}
    - {name: 'last "<b>"', command: {argv: ["true"]}, needs: [kubelet-changed]}
- {name: nothing, hosts: proxy}
`

const role = `
- {name: one, command: {argv: ["true"]}}
- {name: two, command: {argv: ["true"]}}
- {name: three, command: {argv: ["true"]}, run_once: true}
- {name: four, command: {argv: ["true"]}}
`

func compiled(t *testing.T, text string) *program.Program {
	t.Helper()
	files := fstest.MapFS{"site.yaml": {Data: []byte(text)}, "roles/web/tasks/main.yaml": {Data: []byte(role)}}
	roles := fstest.MapFS{"web/tasks/main.yaml": {Data: []byte(role)}}
	c := compile.Compiler{Registry: engine.NewRegistry(tasks.Modules()), Roles: []lang.Tree{{Name: "roles", FS: roles}}}
	p, err := c.Compile(lang.Tree{Name: ".", FS: files}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Name = "site.yaml"
	return p
}

func TestGolden(t *testing.T) {
	t.Parallel()
	p := compiled(t, playbook)
	whole, folded := diagram.New(p, diagram.Options{}), diagram.New(p, diagram.Options{Fold: true})
	for name, got := range map[string]string{"site.dot": whole.DOT(), "site.mmd": whole.Mermaid(), "site.svg": whole.SVG(), "folded.mmd": folded.Mermaid()} {
		golden := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: run with -update, and read the diff:\n%s", name, diff)
		}
	}
}

func TestArrows(t *testing.T) {
	t.Parallel()
	d := diagram.New(compiled(t, playbook), diagram.Options{})
	texts := map[string]string{}
	for _, p := range d.Plays {
		for _, i := range p.Items {
			if i.Kind != diagram.End {
				texts[i.ID] = i.Text
			}
		}
	}
	var got []string
	for _, a := range d.Arrows {
		got = append(got, texts[a.From]+" > "+texts[a.To]+": "+a.Text)
	}
	want := []string{`ready > kubelet: needs "api-ready" on 1 host`, `kubelet > last "<b>": needs "kubelet-changed" on all hosts`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHostileNames puts the special characters of all forms into names, and compares the
// elements of the picture and the lines of the others with those of plain names.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	draw := func(name string) *diagram.Diagram {
		return &diagram.Diagram{Name: name, Plays: []diagram.Play{{ID: "p1", Name: name, Hosts: name, Remarks: []string{name},
			Items: []diagram.Item{{ID: "s1", Text: name, Remarks: []string{name}}, {ID: "s2", Kind: diagram.Begin, Text: name}, {ID: "s3", Text: name, Depth: 1}, {ID: "s2", Kind: diagram.End}}}},
			Arrows: []diagram.Arrow{{From: "s1", To: "s3", Text: name}}}
	}
	plain := draw("x")
	for _, bad := range []string{`"];evil [label="`, "</text><script>alert(1)</script>", "a\n  evil --> b", "\\", "`**`", "#quot;]", "]]>", "\x00\x1b[2J", "\u202eabc", "& &amp;"} {
		d := draw(bad)
		if want, got := strings.Count(plain.DOT(), "\n"), strings.Count(d.DOT(), "\n"); got != want {
			t.Errorf("%q: dot has %d lines, want %d", bad, got, want)
		}
		if want, got := unescapedQuotes(plain.DOT()), unescapedQuotes(d.DOT()); got != want {
			t.Errorf("%q: dot has %d quotes, want %d", bad, got, want)
		}
		if want, got := strings.Count(plain.Mermaid(), "\n"), strings.Count(d.Mermaid(), "\n"); got != want {
			t.Errorf("%q: mermaid has %d lines, want %d", bad, got, want)
		}
		if want, got := strings.Count(plain.Mermaid(), `"`), strings.Count(d.Mermaid(), `"`); got != want || strings.Contains(d.Mermaid(), "<") {
			t.Errorf("%q: mermaid has %d quotes, want %d, and no markup:\n%s", bad, got, want, d.Mermaid())
		}
		if want, got := elements(t, plain.SVG()), elements(t, d.SVG()); got != want {
			t.Errorf("%q: elements of the picture:\n%s\nwant\n%s", bad, got, want)
		}
	}
}

// unescapedQuotes returns the number of quotes that no backslash escapes.
func unescapedQuotes(s string) int {
	return strings.Count(strings.ReplaceAll(strings.ReplaceAll(s, `\\`, ""), `\"`, ""), `"`)
}

// elements returns the names of the elements of a picture, without the spans of remarks,
// which depend on the room.
func elements(t *testing.T, text string) string {
	t.Helper()
	var out []string
	for in := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local != "tspan" {
			out = append(out, e.Name.Local)
		}
	}
}
