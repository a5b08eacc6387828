//go:build lab

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// releases is a web site with two releases, on all hosts.
type releases struct {
	*site
	book, plan string   // paths
	packages   string   // the directory of the hosts' package source
	none       []string // the state of the hosts before the first release
	first      string   // the run that installed release 1
	one, two   []string // the states of the hosts with release 1 and 2
}

// newReleases creates the source of packages, and stops nginx on the hosts.
func newReleases(s *site) *releases {
	s.T.Helper()
	dir := s.T.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		s.T.Fatal(err)
	}
	r := &releases{site: s, book: filepath.Join(dir, "site.yaml"), plan: filepath.Join(dir, "plan.json"), packages: filepath.Join(dir, "packages")}
	for _, version := range []string{"1.0", "2.0"} {
		r.buildPackage("lab-tool", version)
	}
	s.serve(r.packages, webHosts...)
	for _, h := range webHosts {
		s.Shell(h, "rm -f /etc/nginx/sites-enabled/default; systemctl disable --now nginx; echo 'nothing to say' > /etc/motd")
	}
	r.release(1)
	r.none = r.states()
	return r
}

// buildPackage builds an empty package with a name and a version.
func (r *releases) buildPackage(name, version string) {
	r.T.Helper()
	root := filepath.Join(r.T.TempDir(), name)
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: lab <lab@lab.test>\nDescription: a tool of the lab\n", name, version)
	for _, dir := range []string{filepath.Join(root, "DEBIAN"), r.packages} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			r.T.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "DEBIAN", "control"), []byte(control), 0o644); err != nil {
		r.T.Fatal(err)
	}
	out, err := exec.CommandContext(r.T.Context(), "dpkg-deb", "--build", "--root-owner-group", root, filepath.Join(r.packages, name+"_"+version+".deb")).CombinedOutput()
	if err != nil {
		r.T.Fatalf("%v\n%s", err, out)
	}
}

// release sets the release in the inventory.
func (r *releases) release(n int) {
	r.T.Helper()
	r.Edit(func(inv map[string]any) { harness.Section(inv, "groups", "web", "vars")["release"] = n })
}

// states returns the state of each host: files with their permissions, the package, the
// unit, and the served page.
func (r *releases) states() (all []string) {
	r.T.Helper()
	for _, h := range webHosts {
		all = append(all, r.Shell(h, `cd /; things="etc/nginx etc/motd srv/site"
			find $things -printf '%p %y %m %u:%g %l\n' 2>/dev/null | sort
			find $things -type f -exec sha256sum {} + 2>/dev/null | sort
			dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' lab-tool 2>/dev/null
			systemctl is-enabled nginx; systemctl is-active nginx
			curl -s -i --max-time 20 http://127.0.0.1:8081/ | grep -i release || echo nobody serves; cat /etc/motd`))
	}
	return all
}

// requireStates compares the hosts' states now with earlier ones.
func (r *releases) requireStates(want []string, what string) {
	r.T.Helper()
	for i, now := range r.states() {
		if diff := cmp.Diff(want[i], now); diff != "" {
			r.T.Errorf("%s: - %s, + it is now:\n%s", webHosts[i], what, diff)
		}
	}
}

// planToRevert installs release 1, applies a plan for release 2, reverts it, applies it
// again with a killed controller, reverts that with a killed controller, and reverts
// release 1.
func planToRevert(s *site) {
	r := newReleases(s)
	s.Must("run", r.book)
	r.first = s.LastRun().Run
	for _, h := range webHosts {
		s.Shell(h, "mkdir -m 0700 /srv/site/notes; echo old > /srv/site/notes/a; ln -s a /srv/site/notes/b")
	}
	r.one = r.states()
	for i := range r.none {
		if r.none[i] == r.one[i] || !strings.Contains(r.one[i], "release 1") {
			s.T.Fatalf("%s before the first release:\n%s\nand after it:\n%s", webHosts[i], r.none[i], r.one[i])
		}
	}
	r.release(2)
	r.makePlan()
	r.refuseDrift()
	applied := r.applyPlan()
	r.refuseAppliedPlan()
	r.revertRun(applied)
	again := r.killedApply()
	r.killedRevert(again)
	r.revertEverything()
}
