package compile

import (
	"strings"
	"testing"

	"deployer/engine/program"
)

func TestRoleInASubdirectory(t *testing.T) {
	p, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  roles: [container-engine/containerd]\n",
		"roles/container-engine/containerd/meta/main.yaml", "dependencies: [{role: container-engine/runc}]\n",
		"roles/container-engine/containerd/tasks/main.yaml", "- {name: containerd, file: {path: '{{ where }}'}, notify: again}\n- include_tasks: more.yaml\n",
		"roles/container-engine/containerd/tasks/more.yaml", "- {name: more, file: {path: /more}}\n",
		"roles/container-engine/containerd/defaults/main.yaml", "where: /usr\n",
		"roles/container-engine/containerd/handlers/main.yaml", "- {name: again, file: {path: /again}}\n",
		"roles/container-engine/runc/tasks/main.yaml", "- {name: runc, file: {path: /runc}}\n")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, op := range p.Ops {
		if op.Kind == program.OpTask {
			ids = append(ids, op.Task.ID)
		}
	}
	want := "1.container-engine/runc.1 1.container-engine/containerd.2 1.container-engine/containerd.3"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, name := range []string{"../web", "/web", "container-engine/../web", ".git/web", "container-engine/.web", "web/", "."} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  roles: ['"+name+"']\n", "roles/web/tasks/main.yaml", "[]", "web/tasks/main.yaml", "[]")
		if err == nil || !strings.Contains(err.Error(), "unknown role") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
