//go:build lab

package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"deployer/test/harness"
)

// authorityFiles are the certificates of the authorities on a master.
var authorityFiles = []string{"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/etcd/ca.crt", "/etc/kubernetes/pki/front-proxy-ca.crt"}

// authoritiesRotated replaces all authorities with the commands of the runbook, after
// controllers that were killed in each phase. A minion is off during the whole
// rotation. Clients outside of the cluster get the new credentials between the
// phases.
func authoritiesRotated(s *site) {
	const away = "n3"
	before := map[string]map[string]string{}
	for _, file := range authorityFiles {
		before[file] = s.Digests(file, masters)
	}
	const former = "/root/former-admin"
	s.Shell("m1", "cp /etc/kubernetes/pki/admin.crt "+former+".crt && cp /etc/kubernetes/pki/admin.key "+former+".key")
	if err := s.Kill(s.T.Context(), away); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(2*time.Minute, "the cluster notices that "+away+" is off", func() error {
		if err := s.ready(); err == nil {
			return errNotReady("none yet")
		}
		return nil
	})
	for _, phase := range []struct {
		stopAfter []string
		block     string // of the runbooks
	}{
		{[]string{"--stop-after", "trust"}, "authority-trusted"},
		{[]string{"--stop-after", "sign"}, "authority-signs"},
		{nil, "authority-dropped"},
	} {
		s.killedInPhase(append([]string{"certs", "rotate-ca", "--yes"}, phase.stopAfter...))
		s.runbook(phase.block, "", partly)
		s.FollowAuthorities()
	}
	for _, m := range masters {
		if count := strings.TrimSpace(s.Shell(m, "cat "+strings.Join(authorityFiles, " ")+" | grep -c BEGIN")); count != "3" {
			s.T.Errorf("%s has %s certificates of authorities after the rotation, want 3", m, count)
		}
		if left := s.Shell(m, "find /etc/kubernetes -name '*ca-next.pem'"); left != "" {
			s.T.Errorf("%s still has %s", m, left)
		}
	}
	for _, file := range authorityFiles {
		after := s.Digests(file, masters)
		for _, m := range masters {
			if after[m] == before[file][m] || after[m] != after["m1"] {
				s.T.Errorf("%s: %s has %s after the rotation; before %s, m1 has %s", file, m, after[m], before[file][m], after["m1"])
			}
		}
	}
	for _, m := range masters {
		status := s.Shell("m1", fmt.Sprintf("curl -s -o /dev/null -w '%%{http_code}' --cacert /etc/kubernetes/pki/ca.crt --cert %s.crt --key %s.key https://%s:6443/api/v1/nodes", former, former, s.Address(m)))
		if status != "401" {
			s.T.Errorf("the API server of %s answers a client of the former authority with %s, want 401", m, status)
		}
	}
	if err := s.Start(s.T.Context(), away); err != nil {
		s.T.Fatal(err)
	}
	s.Must("install")
	s.RequireReady(nodes)
	s.Must("certs", "list")
	s.unchanged("after the rotation")
}

// killedInPhase runs a command that is killed after a few changes, three times: at
// the first change, then in its continuation by resume, and in that from another
// machine.
func (s *site) killedInPhase(command []string) {
	s.T.Helper()
	for i, run := range []struct {
		controller *harness.Site
		args       []string
	}{{s.Site, command}, {s.Site, []string{"resume"}}, {s.Site.OtherController(), command}} {
		left := 1 + i*(2+s.suite.random.IntN(5)) // changes until the kill
		if !run.controller.StartRun(run.args...).KillAt(func(e map[string]any) bool {
			if changed(e) {
				left--
			}
			return left == 0
		}, partly) {
			s.T.Errorf("deployer %v ended before it was killed", run.args)
			return
		}
	}
}
