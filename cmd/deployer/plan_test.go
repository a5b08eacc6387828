package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"deployer/engine/plan"
	"deployer/test/fleet"
)

const nginx = `
- name: web
  hosts: all
  tasks:
    - {name: directory, directory: {path: /etc/nginx}}
    - name: config
      template: {src: nginx.conf.tmpl, dest: /etc/nginx/nginx.conf}
      notify: reload
    - name: turns
      throttle: 2
      block:
        - {name: key, file: {path: /etc/nginx/key, content: "{{ token }}", mode: "0600"}}
    - {name: ask, command: {argv: [echo, hello], creates: /asked}, register: asked}
    - {name: answer, file: {path: /answer, content: "{{ asked.stdout }}"}}
  handlers:
    - {name: reload, file: {path: /reloaded, content: "{{ release }}"}}
`

func newReleaseSite(t *testing.T, hosts int) *testSite {
	t.Helper()
	s := newTestSite(t, hosts, map[string]string{"site.yaml": nginx, "templates/nginx.conf.tmpl": "release {{ release }}\nlisten 80\n"})
	s.site.Vars = map[string]any{"release": "1.0", "token": fleet.Secret("hunter2-the-token")}
	s.writeInventory()
	return s
}

func TestPlanAndApply(t *testing.T) {
	s := newReleaseSite(t, 12)
	s.writeHostFile(5, "etc/nginx/nginx.conf", "by hand\n")
	out, _ := s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	requireTexts(t, out, "plan of site.yaml for 12 hosts", "n[001:005], n[007:012] (11 hosts): 4 files, 1 command, 1 unknown step", "(diff 1)",
		"+release 1.0", "(at most 2 at a time)", "unknown: the task reads asked, the result of \"ask\", which has not run",
		"n006 (1 host): 3 files", "-by hand", "12 of 12 hosts would change", "in turns: key, at most 2 hosts at a time, 6 turns", "unknown before the run: effects of 1 step,",
		"expected time: unknown", "deployer apply plan.json")
	data, err := os.ReadFile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out+string(data), "hunter2") {
		t.Error("the plan tells a secret")
	}
	if got := s.hostFile(0, "etc/nginx/nginx.conf"); got != "-" {
		t.Fatalf("the plan changed something: %s", got)
	}
	out, _ = s.deployer(exitOK, "apply", "plan.json")
	requireTexts(t, out, "site.yaml done", "12 hosts")
	for i, h := range s.fleet.Hosts {
		if got := s.hostFile(i, "etc/nginx/nginx.conf") + s.hostFile(i, "answer") + s.hostFile(i, "reloaded"); got != "release 1.0\nlisten 80\nhello1.0" {
			t.Errorf("%s has %q", h.Name, got)
		}
	}
	listed, _ := s.deployer(exitOK, "runs", "list")
	requireTexts(t, listed, "apply", "site.yaml", "done")

	// A plan whose steps were executed since has drift; a new plan knows the duration
	// of the steps.
	_, complaint := s.deployer(exitRefused, "apply", "plan.json")
	requireTexts(t, complaint, "refused: files or hosts differ from the plan", "has nothing to change now", "nothing was changed")
	s.site.Vars["release"] = "1.1"
	s.writeInventory()
	out, _ = s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "second.json")
	requireTexts(t, out, "n[001:012] (12 hosts): 2 files, 1 command", "-release 1.0", "+release 1.1", "by the last run of this playbook")
}

// TestApplyRefusesDrift checks that apply names all drift and changes nothing.
func TestApplyRefusesDrift(t *testing.T) {
	s := newReleaseSite(t, 4)
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	tmpl := "templates/nginx.conf.tmpl"
	refused := func(texts ...string) {
		t.Helper()
		_, complaint := s.deployer(exitRefused, "apply", "plan.json")
		requireTexts(t, complaint, append(append([]string{"refused: files or hosts differ from the plan"}, texts...), "nothing was changed")...)
		if got := s.hostFile(0, "etc/nginx/nginx.conf"); got != "-" {
			t.Errorf("it was applied: %q", got)
		}
	}
	s.write(tmpl, "release {{ release }}\nlisten 81\n")
	refused(tmpl+": has changed", "\"config\" would now: create /etc/nginx/nginx.conf")
	s.write(tmpl, "{{ fail \"half of an edit\" }}\n")
	refused(tmpl + ": has changed")
	s.write("site.yaml", nginx+"# changed\n")
	refused("site.yaml", tmpl, ": has changed")
	if err := os.Remove(tmpl); err != nil {
		t.Fatal(err)
	}
	refused("site.yaml: has changed", tmpl+": is missing")
	s.write("site.yaml", nginx)
	refused(tmpl + ": is missing")
	s.write(tmpl, "release {{ release }}\nlisten 80\n")
	s.write("site.yaml", nginx)
	s.writeHostFile(2, "etc/nginx/nginx.conf", "somebody was here\n")
	refused("n003: ", "\"config\" would now: replace /etc/nginx/nginx.conf (diff ", "planned: create /etc/nginx/nginx.conf (diff ")
	if err := os.Remove(s.fleet.Hosts[2].Root + "/etc/nginx/nginx.conf"); err != nil {
		t.Fatal(err)
	}
	s.fleet.Host("n004").Stop()
	refused("n004: ")
	if err := s.fleet.Host("n004").Start(); err != nil {
		t.Fatal(err)
	}
	if runs := s.runs(); len(runs) > 0 {
		t.Errorf("a refused run has a log: %+v", runs[0].Header)
	}
	if err := os.Remove(s.fleet.Hosts[2].Root + "/etc/nginx"); err != nil {
		t.Fatal(err)
	}
	s.deployer(exitOK, "apply", "plan.json")
}

func TestInvalidPlans(t *testing.T) {
	s := newReleaseSite(t, 1)
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	data, err := os.ReadFile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	for want, damage := range map[string]func(*plan.Plan){
		"is a plan of format 9":               func(p *plan.Plan) { p.Format = 9 },
		"the fingerprint of effect 1":         func(p *plan.Plan) { p.Changes[0].Effects[0].Target = "/etc/shadow" },
		"has a change that is not there":      func(p *plan.Plan) { p.Hosts[0].Changes = []int{99} },
		"the plan was made by another, older": func(p *plan.Plan) { p.Deployer = "another, older" },
	} {
		p := &plan.Plan{}
		if err := json.Unmarshal(data, p); err != nil {
			t.Fatal(err)
		}
		damage(p)
		bad, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		s.write("bad.json", string(bad))
		code := exitUsage
		if strings.HasPrefix(want, "the plan was made") {
			code = exitRefused
		}
		_, complaint := s.deployer(code, "apply", "bad.json")
		requireTexts(t, complaint, want)
	}
	s.write("bad.json", "[]")
	_, complaint := s.deployer(exitUsage, "apply", "bad.json")
	requireTexts(t, complaint, "bad.json is no plan")
	_, complaint = s.deployer(exitUsage, "apply", "nowhere.json")
	requireTexts(t, complaint, "reading the plan")
}
