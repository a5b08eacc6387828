//go:build lab

package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
)

// apply runs deployer apply without a plan file.
func (s *site) apply(args ...string) harness.Outcome {
	s.T.Helper()
	return s.Deployer(slices.Concat([]string{"apply", "-i", s.Inventory}, args)...)
}

// reconciled tests apply on a healthy cluster: it finds no difference, and then
// restores a changed file and a stopped kubelet only.
func reconciled(t *testing.T, s *site) {
	equal := s.apply("--detailed-exitcode")
	s.RequireExit(equal, 0)
	s.RequireTexts(equal.Stdout, "running", "nothing to do")

	s.Shell("n1", "systemctl stop kubelet; echo '# drift' >> /var/lib/kubelet/config.yaml")
	before := s.Processes("m1")
	found := s.apply("--check", "--detailed-exitcode")
	s.RequireExit(found, 2)
	s.RequireTexts(found.Stdout, "n1  unit kubelet.service", "file /var/lib/kubelet/config.yaml: replace", "1 of 5 hosts would change")
	s.RequireExit(s.apply(), 4) // nobody can answer the question
	if got := s.Shell("n1", "systemctl is-active kubelet || true"); got != "inactive" {
		t.Errorf("the kubelet of n1 is %s before anybody has agreed", got)
	}

	s.RequireExit(s.apply("--yes", "--detailed-exitcode"), 2)
	if got := s.Shell("n1", "systemctl is-active kubelet; grep -c drift /var/lib/kubelet/config.yaml || true"); got != "active\n0" {
		t.Errorf("after apply the kubelet and its file on n1 are %q", got)
	}
	if after := s.Processes("m1"); after != before {
		t.Errorf("apply restarted something on m1:\n%s\nbefore:\n%s", after, before)
	}
}

// lostMaster tests apply while a master does not answer: it changes nothing and
// prints how to continue.
func lostMaster(t *testing.T, s *site, dead string) {
	o := s.apply("--yes")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), dead+"  etcd", "one at a time in this order: "+dead, "deployer scale-down --dead "+dead)
	if strings.Contains(o.Stdout, "plan of") {
		t.Errorf("apply went on to a plan:\n%s", o.Stdout)
	}
}

// started tests apply on a cluster whose services were stopped.
func started(t *testing.T, s *site, host string) {
	s.Shell(host, "systemctl stop kubelet etcd")
	found := s.apply("--check")
	s.RequireExit(found, 0)
	s.RequireTexts(found.Stdout, "down: ", "unit etcd.service: start")
	o := s.apply("--yes")
	s.RequireExit(o, 0)
	s.RequireTexts(o.Stdout, ": running", "nothing to do")
	s.Eventually(time.Minute, "the kubelet reports its pods as Ready", func() error {
		if v := s.Deployer("verify"); v.Code != 0 {
			return errors.New(v.Stdout)
		}
		return nil
	})
}
