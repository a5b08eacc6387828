//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// revertRun reverts a run, one host at a time, and checks the list of irreversible
// changes.
func (r *releases) revertRun(run string) {
	r.T.Helper()
	o := r.Must("revert", run, "--check", "--diff")
	r.RequireTexts(o.Stdout, "changes of run "+run+" to be reverted:", "h[1:3] (3 hosts)", "package lab-tool", "/srv/site/index.html: restore",
		"-<h1>release 2</h1>", "+<h1>release 1</h1>", "/srv/site/notes/a: bring back", "irreversible:", "h[1:3]: migrate")
	r.requireStates(r.two, "with release 2, before the revert")
	r.RequireExit(r.Deployer("revert", run), 4) // nobody is there to say yes

	r.Shell("h2", "echo by hand > /srv/site/index.html")
	o = r.Deployer("revert", run, "--yes")
	r.RequireExit(o, 4)
	r.RequireTexts(o.All(), "changed since the run:", "h2: /srv/site/index.html", "nothing was changed")
	r.Shell("h2", "echo '<h1>release 2</h1>' > /srv/site/index.html")
	r.requireStates(r.two, "with release 2, before the refused revert")

	began := time.Now()
	visited := r.pollPage(8081)
	o = r.Must("revert", run, "--yes")
	visited()
	r.RequireTexts(o.Stdout, "the next run applies them again", "revert done", "3 hosts")
	r.requireOneByOne("nginx.service", began, webHosts...)
	r.requireStates(r.one, "with release 1, before it was reverted to")
	for _, h := range webHosts {
		r.Shell(h, "rm /var/lib/migrated-2") // what the command did stayed, as was said
	}
}

// killedApply applies the plan with a controller that is killed between a change and its
// handler, and resumes it.
func (r *releases) killedApply() (run string) {
	r.T.Helper()
	r.Must("plan", "run", r.book, "-o", r.plan)
	began := time.Now()
	u := r.StartRun("apply", r.plan)
	u.Step("step.end", "", "configuration")
	u.Kill()
	killed := r.LastRun()
	if killed.Outcome != "killed" {
		r.T.Errorf("runs list says %+v of a killed run", killed)
	}
	r.RequireTexts(r.Must("runs", "show", killed.Run).Stdout, "killed", "deployer resume "+killed.Run)
	r.RequireTexts(r.Must("runs", "tail", killed.Run).Stdout, "run "+killed.Run+" was killed")
	r.RequireTexts(r.Must("resume").Stdout, "site.yaml done", "3 hosts")
	r.requireOneByOne("nginx.service", began, webHosts...)
	r.requireStates(r.two, "with release 2, when nobody was killed")
	return killed.Run
}

// killedRevert reverts the changes of the killed run and of the run that resumed it,
// the latest first. The controller of the first revert is killed. The package source
// has only release 2.
func (r *releases) killedRevert(killed string) {
	r.T.Helper()
	resumed := r.LastRun().Run
	began := time.Now()
	u := r.StartRun("revert", resumed, "--yes")
	u.Until("the first file that is restored", func(e map[string]any) bool {
		result, _ := e["result"].(map[string]any)
		return e["type"] == "step.end" && result["status"] == "changed" && e["name"] == "configuration"
	})
	u.Kill()
	r.Must("resume")
	if err := os.Remove(filepath.Join(r.packages, "lab-tool_1.0.deb")); err != nil {
		r.T.Fatal(err)
	}
	index(r.T, r.packages)
	for _, h := range webHosts {
		r.Shell(h, "apt-get -q update && apt-get clean")
	}
	o := r.Deployer("revert", killed, "--yes")
	r.RequireExit(o, 3)
	r.RequireTexts(o.Stdout, "irreversible:\n  h[1:3]: package lab-tool: no package source", "could not be restored:", "h[1:3]: package lab-tool: no package source of this host offers lab-tool 1.0 any more", "revert done")
	r.requireOneByOne("nginx.service", began, webHosts...)
	var but []string
	for _, state := range r.one {
		but = append(but, strings.Replace(state, "lab-tool 1.0", "lab-tool 2.0", 1))
	}
	r.requireStates(but, "with release 1, but for the package")
}

// revertEverything reverts the first release and checks that its files are gone.
func (r *releases) revertEverything() {
	r.T.Helper()
	for _, h := range webHosts {
		r.Shell(h, "rm -r /srv/site/notes")
	}
	o := r.Must("revert", r.first, "--yes", "--force")
	r.RequireTexts(o.Stdout, "package lab-tool", "unit nginx.service", "revert done")
	r.requireStates(r.none, "before the first release")
}
