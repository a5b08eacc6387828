package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartAt(t *testing.T) {
	const site = `
- hosts: all
  roles: [web]
  tasks:
    - {name: a, file: {path: /a}, barrier: true, label: la}
    - meta: flush_handlers
    - block:
        - {name: b, file: {path: /b}}
        - {name: c, file: {path: /c}, needs: la, notify: h}
      barrier: true
      label: lb
    - {name: d, file: {path: /d}, needs: la}
  handlers: [{name: h, file: {path: /h}}]
`
	tests := map[string]string{
		"c":      "play all\nblock block\ntask 1.play.4 c\nend\nlabel lb\ntask 1.play.5 d\nflush\nplay end\nhandler 1.play.handler1 h\n",
		"d":      "play all\nblock block\nend\ntask 1.play.5 d\nflush\nplay end\nhandler 1.play.handler1 h\n",
		"web: w": "play all\ntask 1.web.1 w\nbarrier\ntask 1.play.2 a\nlabel la\nflush\nbarrier\nblock block\ntask 1.play.3 b\ntask 1.play.4 c\nend\nlabel lb\ntask 1.play.5 d\nflush\nplay end\nhandler 1.play.handler1 h\n",
	}
	for start, want := range tests {
		p, err := compileFiles(t, &Compiler{StartAt: start}, "site.yaml", site, "roles/web/tasks/main.yaml", "- {name: w, file: {path: /w}}\n")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, listing(p)); diff != "" {
			t.Errorf("%s: %s", start, diff)
		}
	}
	_, err := compileFiles(t, &Compiler{StartAt: "webb"}, "site.yaml", "- hosts: all\n  tasks: [{name: web, file: {path: /a}}]\n")
	if err == nil || err.Error() != `no task is called "webb", to start at; did you mean "web"?` {
		t.Errorf("error is %v", err)
	}
}

func TestStepIsLinear(t *testing.T) {
	p, err := compileFiles(t, &Compiler{Step: true}, "site.yaml", "- hosts: all\n  gather_facts: false\n  tasks: [{name: a, file: {path: /a}}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("play all\nbarrier\ntask 1.play.1 a\nbarrier\nflush\nplay end\n", listing(p)); diff != "" {
		t.Error(diff)
	}
}
