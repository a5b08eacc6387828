//go:build lab

package ci

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
)

const environments = `environments:
  staging: {inventories: [staging.yaml]}
  production:
    inventories: [production.yaml]
    gates: {blast_radius: {level: advise, limit: 50%}}
`

// The playbooks sections that the tests append to environments.
const (
	onePlaybook  = "    playbooks: [{file: motd.yaml}]\n"
	twoPlaybooks = "    playbooks: [{file: os.yaml, order: before}, {file: motd.yaml}]\n"
)

// shared returns the sections that both clusters have: those of the lab's inventory, with
// the paths of the git host.
func (s *site) shared(kubernetes string, maxPods int) string {
	s.t.Helper()
	data, err := os.ReadFile(s.Files.Inventory())
	if err != nil {
		s.t.Fatal(err)
	}
	var inv map[string]any
	if err := yaml.Unmarshal(data, &inv); err != nil {
		s.t.Fatal(err)
	}
	delete(inv, "hosts")
	delete(inv, "roles")
	harness.Section(inv, "cluster")["kubernetes"] = kubernetes
	harness.Section(inv, "cluster")["addons"] = []any{map[string]any{"name": "page", "namespace": "page", "manifests": []any{"page.yaml"}, "images": "deliver"}}
	harness.Section(inv, "artifacts")["source"] = "/var/lib/artifacts"
	ssh := harness.Section(inv, "ssh")
	ssh["key"], ssh["known_hosts"] = "/etc/deployer/key", "/etc/deployer/known_hosts"
	if maxPods > 0 {
		harness.Section(inv, "cluster", "kubelet")["max_pods"] = maxPods
	}
	out, err := yaml.Marshal(inv)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// TestPushes deploys two clusters by pushes: an installation with an add-on, an additional minion, a
// playbook on the minions of production, a push that would lose the quorum, a run
// that is killed and continued on another machine, a new Kubernetes version, and a
// revision that does not pass verify.
func TestPushes(t *testing.T) {
	s := newSite(t)
	defer func() {
		fmt.Printf("ci pushes=%d deployed=%d refused=%d rolled_back=%d resumed=%d\n", s.pushes, s.deployed, s.refused, s.rolledBack, s.resumed)
	}()
	const older, newer = "v1.35.4", "v1.36.3"
	staging := s.inventory("staging", []string{"m4"}, []string{"n4"})
	production := func(minions ...string) string {
		return s.inventory("production", []string{"m1", "m2", "m3"}, minions)
	}

	terminal, _ := s.push("both clusters", map[string]string{"deployer.ci.yaml": environments, "shared.yaml": s.shared(older, 0),
		"page.yaml": harness.PageAddon(t, s.Files.Artifacts()), "staging.yaml": staging, "production.yaml": production("n1", "n2")})
	s.requireTexts(terminal, "== deploy staging", "== verify staging", "== deploy production", "== verify production", "staging: new cluster: deployed", "production: new cluster: deployed")
	if t.Failed() {
		return
	}
	for _, master := range []string{"m1", "m4"} {
		s.requireTexts(s.shell(master, harness.PageCommand), "delivered")
	}
	s.deployed++

	terminal, _ = s.push("n3 joins", map[string]string{"production.yaml": production("n1", "n2", "n3")})
	s.requireTexts(terminal, "+ deployer scale-up n3", "production: new hosts: deployed")
	s.requireTexts(s.nodes("m1"), "n3 "+older)
	s.deployed++

	s.playbook(production("n1", "n2", "n3"))
	s.refusedPush()
	s.killedRun(older)
	s.requireVersion(s.pushVersion(newer), newer)
	s.failedVerify(newer)
}

// playbook pushes a playbook for production, and then another content of its template.
func (s *site) playbook(production string) {
	s.t.Helper()
	files := map[string]string{"deployer.ci.yaml": environments + onePlaybook, "motd.j2": "{{ host.name }}, first\n", "production.yaml": production,
		"motd.yaml": "- name: message of the day\n  hosts: minion\n  tasks:\n    - {name: write it, template: {src: motd.j2, dest: /etc/motd}}\n"}
	for _, word := range []string{"first", "second"} {
		files["motd.j2"] = "{{ host.name }}, " + word + "\n"
		terminal, accepted := s.push("message of the day: "+word, files)
		if !accepted {
			s.t.Fatal("the push was refused")
		}
		s.requireTexts(terminal, "+ deployer plan run motd.yaml", "+ deployer apply ", "+ deployer verify", "production: playbooks: deployed")
		for _, n := range []string{"n1", "n2", "n3"} {
			if got := s.shell(n, "cat /etc/motd"); got != n+", "+word {
				s.t.Errorf("/etc/motd of %s is %q", n, got)
			}
		}
		s.requireTexts(s.shell(gitHost, "cd "+repository+"/deployer-ci/reports/$(git -C "+repository+" rev-parse main) && ls plans/production.yaml runs/production.yaml"), "plan.json", ".html", ".json")
		s.deployed++
	}
}

// refusedPush pushes an inventory without two of three masters.
func (s *site) refusedPush() {
	s.t.Helper()
	before := s.nodes("m1")
	terminal, accepted := s.push("one master", map[string]string{"production.yaml": s.inventory("production", []string{"m1"}, []string{"n1", "n2", "n3"})})
	if accepted {
		s.t.Error("the push was accepted")
	}
	s.requireTexts(terminal, "remote: refused: production.yaml:", "quorum: etcd would lose its quorum: m[2:3]", "the push is refused")
	if after := s.nodes("m1"); after != before {
		s.t.Errorf("nodes were\n%sand are\n%s", before, after)
	}
	s.refused++
	s.must("reset", "-q", "--hard", "HEAD~1")
}

// killedRun pushes a setting of all kubelets and a playbook that runs before it,
// kills the run with all its processes in the middle of production, and continues on
// a machine that has only the repository.
func (s *site) killedRun(version string) {
	s.t.Helper()
	killed := make(chan error, 1)
	go func() {
		_, err := s.SSH(s.t.Context(), gitHost, `for i in $(seq 6000); do
  if pgrep -f '[d]eployer apply .*production' >/dev/null; then sleep 4; pkill -9 -x deployer; exit 0; fi; sleep 0.2
done; exit 1`)
		killed <- err
	}()
	s.push("more pods", map[string]string{"shared.yaml": s.shared(version, 64), "deployer.ci.yaml": environments + twoPlaybooks,
		"os.yaml": "- name: preparation\n  hosts: all\n  tasks:\n    - {name: file, copy: {content: prepared, dest: /etc/prepared}}\n"})
	if err := <-killed; err != nil {
		s.t.Fatalf("the run was not killed: %v", err)
	}
	run := "HOME=/root/fresh XDG_STATE_HOME=/root/fresh/state deployer ci run --repository " + repository + " --new main --state /root/fresh/ci 2>&1"
	s.requireTexts(s.shell(gitHost, run+" || true"), "cannot be trusted: it is signed with the key ed25519:", "give this one its key")
	out := s.shell(gitHost, "DEPLOYER_CI_STATE_KEY_FILE=/root/.config/deployer/ci-state.key "+run)
	s.t.Log(out)
	s.requireTexts(out, "production: continuing the deploy of", "1 of 3 steps are done", "deployer resume", "+ deployer run motd.yaml", "production: configuration, playbooks: deployed")
	for _, host := range []string{"m1", "n3"} {
		s.requireTexts(s.shell(host, "cat /etc/prepared"), "prepared")
	}
	s.resumed++
	s.deployed++
}

// pushVersion pushes another Kubernetes version and returns the output.
func (s *site) pushVersion(version string) string {
	s.t.Helper()
	terminal, _ := s.push("Kubernetes "+version, map[string]string{"shared.yaml": s.shared(version, 64)})
	return terminal
}

func (s *site) requireVersion(terminal, version string) {
	s.t.Helper()
	s.requireTexts(terminal, "== deploy staging", "+ deployer upgrade", "== verify staging", "+ deployer verify", "== deploy production", "+ deployer upgrade", "== verify production", "+ deployer verify")
	for _, m := range []string{"m1", "m4"} {
		for line := range strings.Lines(s.nodes(m)) {
			if !strings.HasSuffix(strings.TrimSpace(line), version) {
				s.t.Errorf("after the push of %s: %s", version, line)
			}
		}
	}
	s.deployed++
}

// failedVerify pushes a setting together with a stage that breaks the DNS of staging
// after its deploy: staging gets its verified revision again, and production is not
// touched.
func (s *site) failedVerify(version string) {
	s.t.Helper()
	stages := environments + twoPlaybooks + `stages:
  validate: {uses: validate}
  plan: {uses: plan}
  gate: {uses: gate}
  deploy staging: {uses: deploy, environment: staging, outputs: [KUBECONFIG]}
  kubeconfig: {command: [sh, -c, 'grep -c client-certificate-data "$KUBECONFIG"'], inputs: {KUBECONFIG: deploy staging.KUBECONFIG}}
  break: {command: [ssh, -i, /etc/deployer/key, -o, UserKnownHostsFile=/etc/deployer/known_hosts, root@` + s.address("m4") + `,
    "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system delete service kube-dns"]}
  verify staging: {uses: verify, environment: staging}
  deploy production: {uses: deploy, environment: production}
  verify production: {uses: verify, environment: production}
`
	production := s.nodes("m1")
	terminal, _ := s.push("a change that fails", map[string]string{"shared.yaml": s.shared(version, 0), "deployer.ci.yaml": stages})
	s.requireTexts(terminal, "going back from", "staging: configuration: rolled back", "production: configuration: skipped")
	s.rolledBack++
	out := s.shell(gitHost, "cd "+repository+" && git rev-parse refs/deployer/verified/staging.yaml main")
	if words := strings.Fields(out); len(words) != 2 || words[0] == words[1] {
		s.t.Errorf("verified and main: %q", words)
	}
	s.requireTexts(s.shell("m4", "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get service kube-dns"), "kube-dns")
	if after := s.nodes("m1"); after != production {
		s.t.Errorf("production was\n%sand is\n%s", production, after)
	}
	began := time.Now()
	s.shell(gitHost, "cd "+repository+" && deployer ci drift --new refs/deployer/verified/production.yaml")
	s.t.Logf("no drift, found in %.0fs", time.Since(began).Seconds())
}

func (s *site) address(host string) string {
	s.t.Helper()
	h, err := s.Host(host)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Address.String()
}
