package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNotifyFindsHandlers(t *testing.T) {
	p := mustCompile(t,
		"site.yaml", `
- hosts: all
  roles: [web]
  tasks:
    - {name: by name, file: {path: /a}, notify: restart}
    - {name: by topic, file: {path: /b}, notify: config}
    - {name: both, file: {path: /c}, notify: [reload, config]}
  handlers:
    - {name: reload, file: {path: /h1}, listen: config}
    - {name: restart, file: {path: /h2}, listen: [config, other]}
`,
		"roles/web/tasks/main.yaml", "- {name: of the role, file: {path: /w}, notify: [restart, config]}\n",
		"roles/web/handlers/main.yaml", "- {name: restart, file: {path: /1}}\n- {name: warm up, file: {path: /2}, listen: config}\n",
	)
	got := map[string][]string{}
	for _, task := range p.Tasks {
		for _, h := range task.Notify {
			got[task.Name] = append(got[task.Name], roleOr(h.Role, "play")+"."+h.Name)
		}
	}
	want := map[string][]string{
		"by name":     {"play.restart"},
		"by topic":    {"play.reload", "play.restart", "web.warm up"},
		"both":        {"play.reload", "play.restart", "web.warm up"},
		"of the role": {"web.restart", "play.reload", "play.restart", "web.warm up"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
