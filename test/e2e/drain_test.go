//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maintenance drains a node, changes it and uncordons it.
const maintenance = `
- name: maintenance
  hosts: n1
  tasks:
    - name: one node
      block:
        - {name: move its pods elsewhere, kube_drain: {timeout: "{{ patience }}"}}
        - {name: work, command: {cmd: "{{ work }}"}}
      always:
        - {name: take pods again, kube_uncordon: {timeout: 60s}}
`

// nodeMaintenance maintains a node whose application has a disruption budget of one pod,
// with and without failures. The playbook's hosts include no master.
func nodeMaintenance(t *testing.T, s *site) {
	s.DeployWeb()
	book := filepath.Join(t.TempDir(), "maintenance.yaml")
	if err := os.WriteFile(book, []byte(maintenance), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(patience, work string) []string {
		return []string{"run", book, "-e", "patience=" + patience, "-e", "work=" + work}
	}

	out := s.Must(append([]string{"plan"}, run("60s", "true")...)...).Stdout
	if !strings.Contains(out, "drained: n1 (1 host), ") || !strings.Contains(out, "-n1: default/web-") {
		t.Errorf("the plan does not say what is drained:\n%s", out)
	}
	watch := s.watchPods()
	s.Must(run("60s", "true")...)
	if least := watch(); least < 1 {
		t.Errorf("%d pods of the application were ready, its budget wants 1", least)
	}
	if on := s.WebPodsOn("n1"); on != "" {
		t.Errorf("on n1 there are still %s", on)
	}
	s.RequireSchedulable("n1", "after the work")

	s.MoveWeb("n1")
	if o := s.Deployer(run("60s", "false")...); o.Code == 0 {
		t.Errorf("the work has failed, and the run not:\n%s", o.All())
	}
	s.RequireSchedulable("n1", "after work that failed")

	s.MoveWeb("n1")
	s.SetDisruptionBudget(2)
	o := s.Deployer(run("4s", "true")...)
	if o.Code == 0 || !strings.Contains(o.All(), "PodDisruptionBudget default/web allows no disruption now") || !strings.Contains(o.All(), "it takes pods again") {
		t.Errorf("a budget that allows nothing: exit %d\n%s", o.Code, o.All())
	}
	s.RequireSchedulable("n1", "after a drain that was late")

	s.KillAtOutput("allows no disruption now", append(run("60s", "true"), "--output", "json")...)
	if got := s.CordonState("n1"); got != "true" {
		t.Errorf("nobody was left to uncordon the node, and it is %q", got)
	}
	s.SetDisruptionBudget(1)
	s.Must("resume")
	if on := s.WebPodsOn("n1"); on != "" {
		t.Errorf("after resume, on n1 there are still %s", on)
	}
	s.RequireSchedulable("n1", "after resume")

	s.Kubectl("m1", "cordon n1")
	if o := s.Must(run("60s", "true")...); !strings.Contains(o.All(), "stays cordoned: somebody else did that") {
		t.Errorf("deployer does not say that the node stays as it is:\n%s", o.All())
	}
	if got := s.CordonState("n1"); got != "true" {
		t.Error("what an administrator has cordoned was uncordoned")
	}
	s.Kubectl("m1", "uncordon n1")
	s.Kubectl("m1", "delete deployment/web pdb/web --wait=false")
}

// watchPods watches the number of ready pods of the application. The returned function
// stops and returns the minimum.
func (s *site) watchPods() func() int {
	s.Shell("m1", `rm -f /tmp/stop; nohup sh -c 'while [ ! -e /tmp/stop ]; do kubectl --kubeconfig /etc/kubernetes/admin.conf get deployment web -o "jsonpath={.status.readyReplicas}{\"\n\"}"; sleep 0.2; done' >/tmp/ready 2>/dev/null </dev/null &`)
	return func() int {
		least := 2
		for line := range strings.Lines(s.Shell("m1", "touch /tmp/stop; cat /tmp/ready")) {
			n := 0
			_, _ = fmt.Sscan(line, &n) // the line is empty when none is ready
			least = min(least, n)
		}
		return least
	}
}
