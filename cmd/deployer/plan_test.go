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

func newRelease(t *testing.T, hosts int) *yard {
	t.Helper()
	y := newYard(t, hosts, map[string]string{"site.yaml": nginx, "templates/nginx.conf.tmpl": "release {{ release }}\nlisten 80\n"})
	y.site.Vars = map[string]any{"release": "1.0", "token": fleet.Secret("hunter2-the-token")}
	y.inventory()
	return y
}

func TestPlanAndApply(t *testing.T) {
	y := newRelease(t, 12)
	y.put(5, "etc/nginx/nginx.conf", "by hand\n")
	out, _ := y.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	says(t, out, "plan of site.yaml for 12 hosts", "n[001:005], n[007:012] (11 hosts): 4 files, 1 command, 1 unknown step", "(diff 1)",
		"+release 1.0", "(at most 2 at a time)", "unknown: it looks at asked, the result of \"ask\", which has not run",
		"n006 (1 host): 3 files", "-by hand", "12 of 12 hosts would change", "in turns: key, at most 2 hosts at a time, 6 turns", "unknown before the run: effects of 1 step,",
		"expected time: unknown", "deployer apply plan.json")
	data, err := os.ReadFile("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out+string(data), "hunter2") {
		t.Error("the plan tells a secret")
	}
	if got := y.on(0, "etc/nginx/nginx.conf"); got != "-" {
		t.Fatalf("the plan changed something: %s", got)
	}
	out, _ = y.deployer(exitOK, "apply", "plan.json")
	says(t, out, "site.yaml done", "12 hosts")
	for i, h := range y.fleet.Hosts {
		if got := y.on(i, "etc/nginx/nginx.conf") + y.on(i, "answer") + y.on(i, "reloaded"); got != "release 1.0\nlisten 80\nhello1.0" {
			t.Errorf("%s has %q", h.Name, got)
		}
	}
	listed, _ := y.deployer(exitOK, "runs", "list")
	says(t, listed, "apply", "site.yaml", "done")

	// What was done is drift; a plan that is made again knows the time it took.
	_, complaint := y.deployer(exitRefused, "apply", "plan.json")
	says(t, complaint, "refused: files or hosts differ from the plan", "has nothing to change now", "nothing was changed")
	y.site.Vars["release"] = "1.1"
	y.inventory()
	out, _ = y.deployer(exitOK, "plan", "run", "site.yaml", "-o", "second.json")
	says(t, out, "n[001:012] (12 hosts): 2 files, 1 command", "-release 1.0", "+release 1.1", "by the last run of this playbook")
}

// TestApplyRefusesDrift checks that apply names all drift and changes nothing.
func TestApplyRefusesDrift(t *testing.T) {
	y := newRelease(t, 4)
	y.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	tmpl := "templates/nginx.conf.tmpl"
	refused := func(texts ...string) {
		t.Helper()
		_, complaint := y.deployer(exitRefused, "apply", "plan.json")
		says(t, complaint, append(append([]string{"refused: files or hosts differ from the plan"}, texts...), "nothing was changed")...)
		if got := y.on(0, "etc/nginx/nginx.conf"); got != "-" {
			t.Errorf("it was applied: %q", got)
		}
	}
	y.write(tmpl, "release {{ release }}\nlisten 81\n")
	refused(tmpl+": has changed", "\"config\" would now: create /etc/nginx/nginx.conf")
	y.write(tmpl, "{{ fail \"half of an edit\" }}\n")
	refused(tmpl + ": has changed")
	y.write("site.yaml", nginx+"# changed\n")
	refused("site.yaml", tmpl, ": has changed")
	if err := os.Remove(tmpl); err != nil {
		t.Fatal(err)
	}
	refused("site.yaml: has changed", tmpl+": is missing")
	y.write("site.yaml", nginx)
	refused(tmpl + ": is missing")
	y.write(tmpl, "release {{ release }}\nlisten 80\n")
	y.write("site.yaml", nginx)
	y.put(2, "etc/nginx/nginx.conf", "somebody was here\n")
	refused("n003: ", "\"config\" would now: replace /etc/nginx/nginx.conf (diff ", "planned: create /etc/nginx/nginx.conf (diff ")
	if err := os.Remove(y.fleet.Hosts[2].Root + "/etc/nginx/nginx.conf"); err != nil {
		t.Fatal(err)
	}
	y.fleet.Host("n004").Stop()
	refused("n004: ")
	if err := y.fleet.Host("n004").Start(); err != nil {
		t.Fatal(err)
	}
	if runs := y.runs(); len(runs) > 0 {
		t.Errorf("a refused run has a log: %+v", runs[0].Header)
	}
	if err := os.Remove(y.fleet.Hosts[2].Root + "/etc/nginx"); err != nil {
		t.Fatal(err)
	}
	y.deployer(exitOK, "apply", "plan.json")
}

func TestInvalidPlans(t *testing.T) {
	y := newRelease(t, 1)
	y.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
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
		y.write("bad.json", string(bad))
		code := exitUsage
		if strings.HasPrefix(want, "the plan was made") {
			code = exitRefused
		}
		_, complaint := y.deployer(code, "apply", "bad.json")
		says(t, complaint, want)
	}
	y.write("bad.json", "[]")
	_, complaint := y.deployer(exitUsage, "apply", "bad.json")
	says(t, complaint, "bad.json is no plan")
	_, complaint = y.deployer(exitUsage, "apply", "nowhere.json")
	says(t, complaint, "reading the plan")
}
