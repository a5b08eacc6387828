//go:build lab

package keeper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// replaceAfter is the time after which a lost member is replaced.
const replaceAfter = time.Minute

// TestLostMember takes the data of one member of etcd away, and another member out of the cluster: the keepers
// of their hosts make them members again, while a client writes.
func TestLostMember(t *testing.T) {
	s := &site{harness.New(t, "keepermember", plan.Spec{Masters: 3})}
	s.set(func(k map[string]any) {
		k["enabled"], k["interval"] = true, "5s"
		k["etcd"] = map[string]any{"replace": true, "replace_after": replaceAfter.String()}
	})
	s.Must("install")
	s.Shell("m1", writer)
	s.step("the data of a member is lost", s.dataLost)
	if failed := strings.TrimSpace(s.Shell("m1", "cat /root/failed")); failed != "" {
		t.Errorf("writes failed:\n%s", failed)
	}
	s.step("a member was removed by hand", s.memberRemoved)
	// An API server that asks the removed member waits for an answer until it is stopped.
	s.endWrites()
	s.RequireTexts(s.Must("install").All(), "nothing was changed")
}

const etcdctl = "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "

// dataLost removes the data of a member with its directory.
func (s *site) dataLost() {
	s.Shell("m2", "systemctl stop etcd; rm -rf /var/lib/etcd; systemctl start --no-block etcd")
	s.rejoins("m2")
}

// memberRemoved removes a member by etcdctl.
func (s *site) memberRemoved() {
	id := strings.TrimSpace(s.Shell("m1", etcdctl+"member list | grep ', m3,' | cut -d, -f1"))
	s.Eventually(time.Minute, "etcd removes the member", func() error { // it refuses until its members have been connected for 5 s
		if said := s.Shell("m1", etcdctl+"member remove "+id+" 2>&1 || true"); !strings.Contains(said, "removed from cluster") {
			return fmt.Errorf("%s", said)
		}
		return nil
	})
	s.rejoins("m3")
	if kept := s.Shell("m3", "ls -d /var/lib/etcd/before-rejoin-*/snap"); strings.TrimSpace(kept) == "" {
		s.T.Error("the former data of m3 was not kept")
	}
}

// rejoins waits until a host has a member that votes, and checks what the keeper says of it.
func (s *site) rejoins(host string) {
	s.T.Helper()
	began := time.Now()
	s.Eventually(10*time.Minute, "etcd has three members that vote and serve", func() error {
		list := s.Shell("m1", etcdctl+"member list; "+etcdctl+"endpoint status --cluster 2>&1 || true")
		if strings.Count(list, "started,") != 3 || strings.Contains(list, ", true\n") || strings.Contains(list, "Failed") || time.Since(began) < replaceAfter {
			return fmt.Errorf("%s", list)
		}
		return nil
	})
	s.T.Logf("the member of %s votes after %.0f s", host, time.Since(began).Seconds())
	s.Eventually(2*time.Minute, "all keepers are well", func() error {
		if state, out := s.state(); out.Code != 0 || !strings.Contains(out.Stdout, `"RejoinEtcd"`) {
			return fmt.Errorf("exit code %d, %d keepers:\n%s", out.Code, len(state.Keepers), out.Stdout)
		}
		return nil
	})
	s.RequireTexts(s.Kubectl("m1", "get events --field-selector source=deployer-keeper"), "RejoinEtcd", "node/"+host)
}
