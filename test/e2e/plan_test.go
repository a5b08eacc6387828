//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// makePlan makes the plan and checks that it shows all changes and changes nothing.
func (r *releases) makePlan() {
	r.T.Helper()
	o := r.Must("plan", "run", r.book, "-o", r.plan)
	r.RequireTexts(o.Stdout,
		"h[1:3] (3 hosts): 4 files, 1 package, 1 restart, 1 command", "package lab-tool: 1.0 -> 2.0", "/srv/site/index.html: replace", "-<h1>release 1</h1>", "+<h1>release 2</h1>",
		"/etc/nginx/conf.d/site.conf: replace", "+    add_header X-Release 2;", "restart nginx.service: restart", "/srv/site/notes", "touch /var/lib/migrated-2",
		"/etc/motd: replace", "3 of 3 hosts would change: 12 files, 3 packages, 3 restarts, 3 commands", "restarted: nginx.service", "in turns: ", "at most 1 host at a time, 3 turns",
		"expected time: about ", "deployer apply "+r.plan)
	r.requireStates(r.one, "with release 1, before the plan")
}

// refuseDrift checks that apply refuses and names changed files and hosts.
func (r *releases) refuseDrift() {
	r.T.Helper()
	template := filepath.Join(filepath.Dir(r.book), "templates", "index.html.tmpl")
	putBack := r.appendLine(template, "<p>edited</p>\n")
	again := r.appendLine(r.Inventory, "# edited\n")
	o := r.Deployer("apply", r.plan)
	r.RequireExit(o, 4)
	r.RequireTexts(o.Stderr, "refused: files or hosts differ from the plan", "inventory.yaml, ", "index.html.tmpl: has changed", "nothing was changed")
	putBack()
	again()
	r.Shell("h2", "echo '# by hand' >> /etc/nginx/conf.d/site.conf")
	r.Shell("h3", "systemctl stop nginx")
	o = r.Deployer("apply", r.plan)
	r.RequireExit(o, 4)
	r.RequireTexts(o.Stderr, `h2: "configuration" would now: replace /etc/nginx/conf.d/site.conf`, `h3: "nginx runs with it" would now: `, "nothing was changed")
	if strings.Contains(o.Stderr, "h1") {
		r.T.Errorf("h1 is as planned, and the refusal names it:\n%s", o.Stderr)
	}
	r.Shell("h2", "sed -i '/by hand/d' /etc/nginx/conf.d/site.conf")
	r.Shell("h3", "systemctl start nginx")
	r.requireStates(r.one, "with release 1, before the refused plans")
}

// appendLine adds a line to a file of the controller.
func (r *releases) appendLine(path, line string) (putBack func()) {
	r.T.Helper()
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(before[:len(before):len(before)], line...), 0o600)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, before, 0o600); err != nil {
			r.T.Fatal(err)
		}
	}
}

// applyPlan applies the plan while clients poll the page, and checks the log of the run.
func (r *releases) applyPlan() (run string) {
	r.T.Helper()
	began := time.Now()
	visited := r.pollPage(8081)
	o := r.Must("apply", r.plan)
	visited()
	r.RequireTexts(o.Stdout, "site.yaml done", "3 hosts")
	r.requireOneByOne("nginx.service", began, webHosts...)
	r.two = r.states()
	for i, now := range r.two {
		for _, want := range []string{"lab-tool 2.0 installed", "X-Release: 2", "<h1>release 2</h1>", "This host serves release 2."} {
			if !strings.Contains(now, want) {
				r.T.Errorf("%s after apply: no %q in\n%s", webHosts[i], want, now)
			}
		}
		if strings.Contains(now, "notes") {
			r.T.Errorf("%s after apply: the notes are there\n%s", webHosts[i], now)
		}
	}
	last := r.LastRun()
	if last.Verb != "apply" || last.Outcome != "done" || last.Hosts != 3 || last.Failed != 0 {
		r.T.Errorf("runs list says %+v", last)
	}
	r.RequireTexts(r.Must("runs", "list").Stdout, last.Run+"  apply")
	r.RequireTexts(r.Must("runs", "show", last.Run, "-v").Stdout, "applies plan: ", "h[1:3] (3 hosts)", "+<h1>release 2</h1>", "restart nginx.service", "site.yaml done")
	r.RequireTexts(r.Must("runs", "tail", last.Run).Stdout, "== site", "h1        changed  configuration", "site.yaml done")
	return last.Run
}

// refuseAppliedPlan checks that apply refuses a plan that was applied before.
func (r *releases) refuseAppliedPlan() {
	r.T.Helper()
	o := r.Deployer("apply", r.plan)
	r.RequireExit(o, 4)
	r.RequireTexts(o.Stderr, "refused", `h[1:3]: "configuration" has nothing to change now; planned: replace /etc/nginx/conf.d/site.conf`)
	r.RequireTexts(r.Must("plan", "run", r.book).Stdout, "nothing to do")
}
