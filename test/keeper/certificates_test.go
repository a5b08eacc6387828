//go:build lab

package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// The lifetimes of certificates in this test. A kubelet renews its own when 70 % to 90 % are over, so that
// some are renewed by the kubelet and some by the keeper.
const (
	leafLifetime = 10 * time.Minute
	renewBefore  = 3 * time.Minute
)

// TestCertificates leaves three masters and a minion alone for longer than their certificates live, once with their
// keepers, and once without: then everything has expired when the keepers start.
func TestCertificates(t *testing.T) {
	s := &site{harness.New(t, "keepercerts", plan.Spec{Masters: 3, Minions: 1})}
	s.lifetimes(leafLifetime, renewBefore)
	s.set(func(k map[string]any) { k["enabled"], k["interval"] = true, "5s" })
	s.Must("install")
	began := time.Now()
	s.step("a node asks for too much", s.refused)
	s.step("certificates are renewed before they expire", func() { s.renewed(began.Add(leafLifetime + time.Minute)) })
	s.step("everything has expired", s.allExpired)
}

func (s *site) lifetimes(leaf, before time.Duration) {
	s.Edit(func(inv map[string]any) {
		section := harness.Section(inv, "cluster", "certificates")
		section["leaf_lifetime"], section["renew_before"] = leaf.String(), before.String()
	})
}

// writer writes an object twice a second on a host, until its file is gone, and counts what fails.
const writer = `touch /root/writing; : > /root/failed; : > /root/written
nohup sh -c 'while [ -e /root/writing ]; do
  if kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s create configmap w-$(date +%s%N) >/dev/null 2>>/root/failed; then echo >> /root/written; fi
  sleep 0.5
done' >/dev/null 2>&1 &`

// endWrites ends the writer, and returns what the writes that failed said.
func (s *site) endWrites() string {
	s.T.Helper()
	s.Shell("m1", "rm /root/writing; sleep 6") // the last one
	failed := s.Shell("m1", "cat /root/failed")
	failedWrites += len(strings.FieldsFunc(failed, func(r rune) bool { return r == '\n' }))
	s.T.Logf("writes %s, failures %q", s.Shell("m1", "wc -l < /root/written"), failed)
	return failed
}

// renewed waits until the first certificates have expired: a client that writes all the time has seen
// nothing of it, and masters took turns.
func (s *site) renewed(until time.Time) {
	s.Shell("m1", writer)
	s.startAsking()
	time.Sleep(time.Until(until))
	s.endAsking()
	if failed := s.endWrites(); failed != "" {
		s.T.Errorf("writes failed:\n%s", failed)
	}
	s.fresh()
	state, _ := s.state()
	var all []actionlog.Entry
	for _, host := range masters {
		of := slices.DeleteFunc(slices.Clone(state.Keepers[host].Done), func(d actionlog.Entry) bool { return d.Action != string(decide.RenewCertificates) })
		if len(of) == 0 {
			s.T.Errorf("the keeper of %s renewed nothing", host)
		}
		all = append(all, of...)
	}
	slices.SortFunc(all, func(a, b actionlog.Entry) int { return a.Time.Compare(b.Time) })
	for _, d := range all {
		s.T.Logf("%s %s: %s: %s", d.Time.Format(time.TimeOnly), d.Object, d.Why, d.Result)
		if d.Result != actionlog.ResultDone {
			s.T.Errorf("%s: %s", d.Object, d.Result)
		}
	}
	s.RequireTexts(s.Kubectl("m1", "get events --field-selector source=deployer-keeper"), string(decide.RenewCertificates), "node/m1")
}

// fresh checks that no certificate has expired, that nodes are Ready, and that a new pod runs, for which every
// component must work.
func (s *site) fresh() {
	s.T.Helper()
	for _, c := range s.certificates() {
		if c.State == cluster.CertificateExpired || c.State == cluster.CertificateMissing {
			s.T.Errorf("%s on %s is %s: %s", c.Path, c.Host, c.State, c.Detail)
		}
	}
	s.RequireReady(masters)
	node := s.startOnce("n1")
	s.T.Logf("a new pod runs on %s", node)
	s.Kubectl("m1", "delete -f /root/once.yaml --wait=true")
}

func (s *site) certificates() (out []cluster.CertificateState) {
	s.T.Helper()
	listed := s.Deployer("certs", "list", "-o", "json")
	var list struct{ Certificates []cluster.CertificateState }
	if err := json.Unmarshal([]byte(listed.Stdout), &list); err != nil || len(list.Certificates) == 0 {
		s.T.Fatalf("deployer certs list: %v\n%s", err, listed.All())
	}
	return list.Certificates
}

// allExpired ends the keepers, and starts them when all certificates have expired: no API server, no kubelet
// and no member of etcd trusts another then.
func (s *site) allExpired() {
	for _, host := range masters {
		s.Shell(host, "systemctl stop deployer-keeper")
	}
	last := time.Now()
	for _, c := range s.certificates() {
		if c.Name != "" && !strings.HasPrefix(c.Name, "authority ") && c.Expires.After(last) {
			last = c.Expires
		}
	}
	s.T.Logf("the last certificate expires in %.0f s", time.Until(last).Seconds())
	time.Sleep(time.Until(last) + 5*time.Second)
	for _, host := range masters {
		if said := s.Shell(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get nodes 2>&1 || true"); !strings.Contains(said, "expired") && !strings.Contains(said, "logged in") && !strings.Contains(said, "Unauthorized") {
			s.T.Errorf("the API of %s still answers: %s", host, said)
		}
	}
	began := time.Now()
	for _, host := range masters {
		s.Shell(host, "systemctl start deployer-keeper")
	}
	s.Eventually(20*time.Minute, "every master has valid certificates, and the API answers", func() error {
		for _, host := range masters {
			said := s.Shell(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s create configmap again-"+host+" 2>&1 || true")
			if !strings.Contains(said, "created") && !strings.Contains(said, "already exists") {
				return fmt.Errorf("%s: %s", host, said)
			}
		}
		return nil
	})
	s.T.Logf("the API of all masters works after %.0f s", time.Since(began).Seconds())
	s.Eventually(10*time.Minute, "every master is Ready", func() error {
		for _, host := range masters {
			if now := s.ReadyStatus("m1", host); now != "True" {
				return errors.New(host + " " + now)
			}
		}
		return nil
	})
	s.T.Logf("every master is Ready after %.0f s", time.Since(began).Seconds())
	s.minionRenewed()
	s.fresh()
}
