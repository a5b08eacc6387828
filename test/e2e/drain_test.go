//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	deployWeb(s)
	book := filepath.Join(t.TempDir(), "maintenance.yaml")
	if err := os.WriteFile(book, []byte(maintenance), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(patience, work string) []string {
		return []string{"run", book, "-e", "patience=" + patience, "-e", "work=" + work}
	}

	out := s.must(append([]string{"plan"}, run("60s", "true")...)...).stdout
	if !strings.Contains(out, "drained: n1 (1 host), ") || !strings.Contains(out, "-n1: default/web-") {
		t.Errorf("the plan does not say what is drained:\n%s", out)
	}
	watch := s.watchPods()
	s.must(run("60s", "true")...)
	if least := watch(); least < 1 {
		t.Errorf("%d pods of the application were ready, its budget wants 1", least)
	}
	if on := s.podsOn("n1"); on != "" {
		t.Errorf("on n1 there are still %s", on)
	}
	s.schedulable("n1", "after the work")

	s.onNode("n1")
	if o := s.deployer(run("60s", "false")...); o.code == 0 {
		t.Errorf("the work has failed, and the run not:\n%s", o.all())
	}
	s.schedulable("n1", "after work that failed")

	s.onNode("n1")
	s.setDisruptionBudget(2)
	o := s.deployer(run("4s", "true")...)
	if o.code == 0 || !strings.Contains(o.all(), "PodDisruptionBudget default/web allows no disruption now") || !strings.Contains(o.all(), "it takes pods again") {
		t.Errorf("a budget that allows nothing: exit %d\n%s", o.code, o.all())
	}
	s.schedulable("n1", "after a drain that was late")

	s.killAtOutput("allows no disruption now", append(run("60s", "true"), "--output", "json")...)
	if got := s.cordonState("n1"); got != "true" {
		t.Errorf("nobody was left to uncordon the node, and it is %q", got)
	}
	s.setDisruptionBudget(1)
	s.must("resume")
	if on := s.podsOn("n1"); on != "" {
		t.Errorf("after resume, on n1 there are still %s", on)
	}
	s.schedulable("n1", "after resume")

	s.kubectl("m1", "cordon n1")
	if o := s.must(run("60s", "true")...); !strings.Contains(o.all(), "stays cordoned: somebody else did that") {
		t.Errorf("deployer does not say that the node stays as it is:\n%s", o.all())
	}
	if got := s.cordonState("n1"); got != "true" {
		t.Error("what an administrator has cordoned was uncordoned")
	}
	s.kubectl("m1", "uncordon n1")
	s.kubectl("m1", "delete deployment/web pdb/web --wait=false")
}

// deployWeb runs an application with a disruption budget, of an image that
// deployer put on the hosts.
func deployWeb(s *site) {
	image := s.shell("n1", `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:' | head -1`)
	s.shell("m1", fmt.Sprintf(`cat > /tmp/web.yaml <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}
      containers: [{name: web, image: %s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
EOF`, image))
	s.kubectl("m1", "apply -f /tmp/web.yaml")
	s.kubectl("m1", "rollout status deployment/web --timeout=60s")
}

// onNode moves the application to a node.
func (s *site) onNode(node string) {
	s.t.Helper()
	s.kubectl("m1", "rollout restart deployment/web")
	s.kubectl("m1", "rollout status deployment/web --timeout=60s")
	s.eventually(30*time.Second, "the application is on "+node, func() error {
		if s.podsOn(node) == "" {
			return fmt.Errorf("it is elsewhere")
		}
		return nil
	})
}

func (s *site) podsOn(node string) string {
	return s.kubectl("m1", "get pods -l app=web --field-selector spec.nodeName="+node+" -o name")
}

func (s *site) setDisruptionBudget(atLeast int) {
	s.kubectl("m1", fmt.Sprintf(`patch pdb web --type merge -p '{"spec":{"minAvailable":%d}}'`, atLeast))
	s.eventually(20*time.Second, "the budget is counted anew", func() error {
		if got := s.kubectl("m1", `get pdb web -o 'jsonpath={.status.desiredHealthy}/{.status.currentHealthy}'`); got != fmt.Sprintf("%d/2", atLeast) {
			return fmt.Errorf("desired/current: %s", got)
		}
		return nil
	})
}

// cordonState returns spec.unschedulable of a node.
func (s *site) cordonState(node string) string {
	return s.kubectl("m1", "get node "+node+" -o 'jsonpath={.spec.unschedulable}'")
}

func (s *site) schedulable(node, when string) {
	s.t.Helper()
	if got := s.cordonState(node); got != "" {
		s.t.Errorf("%s node %s is cordoned", when, node)
	}
	if got := s.kubectl("m1", "get node "+node+" -o 'jsonpath={.metadata.annotations}'"); strings.Contains(got, "deployer/cordoned") {
		s.t.Errorf("%s node %s bears a mark: %s", when, node, got)
	}
}

// watchPods watches the number of ready pods of the application. The returned function
// stops and returns the minimum.
func (s *site) watchPods() func() int {
	s.shell("m1", `rm -f /tmp/stop; nohup sh -c 'while [ ! -e /tmp/stop ]; do kubectl --kubeconfig /etc/kubernetes/admin.conf get deployment web -o "jsonpath={.status.readyReplicas}{\"\n\"}"; sleep 0.2; done' >/tmp/ready 2>/dev/null </dev/null &`)
	return func() int {
		least := 2
		for line := range strings.Lines(s.shell("m1", "touch /tmp/stop; cat /tmp/ready")) {
			n := 0
			_, _ = fmt.Sscan(line, &n) // nothing where none is ready
			least = min(least, n)
		}
		return least
	}
}
