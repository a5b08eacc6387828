package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// listing returns a program as text, one operation a line.
func listing(p *program.Program) string {
	var b strings.Builder
	for _, op := range p.Ops {
		switch op.Kind {
		case program.OpPlay:
			fmt.Fprintf(&b, "play %s\n", op.Play.Name)
		case program.OpBarrier:
			b.WriteString("barrier\n")
		case program.OpBatch:
			b.WriteString("batch\n")
		case program.OpTask:
			fmt.Fprintf(&b, "task %s %s\n", op.Task.ID, op.Task.Name)
		case program.OpBlock:
			fmt.Fprintf(&b, "block %s\n", op.Block.Name)
		case program.OpRescue:
			b.WriteString("rescue\n")
		case program.OpAlways:
			b.WriteString("always\n")
		case program.OpEnd:
			b.WriteString("end\n")
		case program.OpLabel:
			fmt.Fprintf(&b, "label %s\n", op.Label.Name)
		case program.OpFlush:
			b.WriteString("flush\n")
		case program.OpPlayEnd:
			b.WriteString("play end\n")
		}
	}
	for _, play := range p.Plays {
		for _, h := range play.Handlers {
			fmt.Fprintf(&b, "handler %s %s\n", h.ID, h.Name)
		}
	}
	return b.String()
}

func TestCompileOrder(t *testing.T) {
	p := mustCompile(t,
		"site.yaml", `
- name: first
  hosts: all
  barrier: true
  roles:
    - web
    - {role: extra, when: facts.arch == "amd64"}
  pre_tasks:
    - {name: before, file: {path: /a}, notify: h1}
  tasks:
    - name: b
      throttle: 1
      block:
        - {name: in block, file: {path: /b}}
      rescue:
        - {name: in rescue, file: {path: /c}}
      always:
        - {name: in always, file: {path: /d}}
      label: done
    - meta: flush_handlers
    - include_tasks: more.yaml
  post_tasks:
    - {name: after, file: {path: /z}, barrier: true, needs: done}
  handlers:
    - {name: h1, file: {path: /h1}}
- hosts: some
  tasks:
    - include_role: web
`,
		"more.yaml", "- {name: included, file: {path: /i}}\n",
		"roles/web/tasks/main.yaml", "- {name: web, file: {path: /w}, notify: restart}\n",
		"roles/web/handlers/main.yaml", `
- {name: second, file: {path: /2}}
- {name: restart, file: {path: /1}, notify: second}
`,
		"roles/web/meta/main.yaml", "dependencies: [base]\n",
		"roles/base/tasks/main.yml", "- {name: base, file: {path: /base}}\n",
		"roles/extra/tasks/main.yaml", "- {name: extra, file: {path: /extra}}\n",
		"roles/extra/meta/main.yaml", "dependencies: [base]\n",
	)
	want := `play first
barrier
task 1.play.1 before
flush
task 1.base.2 base
task 1.web.3 web
block role extra
task 1.extra.4 extra
end
block b
task 1.play.5 in block
rescue
task 1.play.6 in rescue
always
task 1.play.7 in always
end
label done
flush
task 1.play.8 included
flush
barrier
task 1.play.9 after
flush
play end
play some
task 2.base.1 base
task 2.web.2 web
flush
play end
handler 1.play.handler1 h1
handler 1.web.handler2 restart
handler 1.web.handler3 second
handler 2.web.handler1 restart
handler 2.web.handler2 second
`
	if diff := cmp.Diff(want, listing(p)); diff != "" {
		t.Error(diff)
	}
}

// TestModuleCalledAsAKeyword: a list makes `block` the keyword, a mapping the
// module of that name.
func TestModuleCalledAsAKeyword(t *testing.T) {
	t.Parallel()
	lib := &Compiler{Registry: engine.NewRegistry([]engine.Kind{
		{Name: "file", New: func() any { return &fileArgs{} }}, {Name: "block", New: func() any { return &fileArgs{} }},
	})}
	tree := files("site.yaml", "- hosts: all\n  tasks:\n  - block: {path: /a}\n  - block:\n    - block: {path: /b}\n    - file: {path: /c}\n")
	p, err := lib.Compile(lang.Tree{FS: tree}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range p.Tasks {
		got = append(got, task.Kind.Name)
	}
	if want := []string{"block", "block", "file"}; !slices.Equal(got, want) {
		t.Errorf("tasks %v, want %v", got, want)
	}
}
