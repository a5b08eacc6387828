//go:build lab

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deployer/cluster"
)

// etcdctl is etcdctl with the client certificate of a master.
const etcdctl = "etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt " +
	"--cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "

// etcdMember returns the state of a host's member as etcd status prints it.
func (s *site) etcdMember(host string) cluster.EtcdMemberState {
	s.T.Helper()
	var found struct {
		Members []cluster.EtcdMemberState `json:"members"`
	}
	o := s.Deployer("etcd", "status", "--output", "json")
	if err := json.Unmarshal([]byte(o.Stdout), &found); err != nil {
		s.T.Fatalf("etcd status ended with %d: %v\n%s", o.Code, err, o.All())
	}
	for _, m := range found.Members {
		if m.Host == host {
			return m
		}
	}
	s.T.Fatalf("etcd status has no member of %s:\n%s", host, o.Stdout)
	return cluster.EtcdMemberState{}
}

// requireReplaced checks that a host has another member than before, which votes, and that
// an install finds nothing to do.
func (s *site) requireReplaced(host string, before cluster.EtcdMemberState) {
	s.T.Helper()
	if now := s.etcdMember(host); now.ID == before.ID || !now.Serves || now.Learner {
		s.T.Errorf("the member of %s was %+v and is %+v", host, before, now)
	}
	s.requireMembers(masters...)
	s.unchanged("after the replacement of " + host)
}

// memberRemoved removes a member by hand. Install refuses to touch the data of the host;
// a replacement puts it aside and adds the host again.
func memberRemoved(s *site) {
	before := s.etcdMember("m3")
	s.Shell("m1", etcdctl+"member remove "+before.ID)
	s.RequireTexts(s.Deployer("etcd", "status").Stdout, "m3", "no member", "deployer etcd replace m3")
	refused := s.Deployer("install")
	s.RequireExit(refused, 4)
	s.RequireTexts(refused.All(), "deployer etcd replace m3")
	s.Must("etcd", "replace", "m3", "--yes")
	s.Shell("m3", "ls -d /var/lib/etcd/before-*/member")
	s.requireReplaced("m3", before)
}

// memberDataLost removes the data of a member that has served. Its unit does not
// start the member without data, even when the leader changes; install replaces the
// member.
func memberDataLost(s *site) {
	before := s.etcdMember("m2")
	s.Shell("m2", "systemctl stop etcd; rm -rf /var/lib/etcd/member; systemctl start --no-block etcd")
	time.Sleep(5 * time.Second)
	if out := s.Shell("m2", "ls /var/lib/etcd; journalctl -u etcd -n 20 -o cat"); strings.Contains(out, "member\n") || !strings.Contains(out, "its data is gone") {
		s.T.Errorf("etcd on m2 without its data:\n%s", out)
	}
	s.Must("install")
	s.requireReplaced("m2", before)
}

// memberStuck adds a learner that does not start. Then no other member can be
// replaced; the replacement of the learner removes it.
func memberStuck(s *site) {
	before := s.etcdMember("m3")
	s.Shell("m1", etcdctl+"member remove "+before.ID)
	s.Eventually(time.Minute, "a learner is added", func() error {
		if out := s.Shell("m1", etcdctl+"member add m3 --learner --peer-urls="+before.PeerURLs[0]+" 2>&1 || true"); !strings.Contains(out, "added") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	stuck := s.etcdMember("m3")
	refused := s.Deployer("etcd", "replace", "m2", "--yes")
	s.RequireExit(refused, 4)
	s.RequireTexts(refused.All(), "only one change at a time")
	s.Must("etcd", "replace", "m3", "--yes")
	s.requireReplaced("m3", stuck)
}

// memberDamaged overwrites the log of a member and replaces it with a controller that is
// killed at every change. The cluster never has two new members.
func memberDamaged(s *site) {
	before := s.etcdMember("m1")
	s.Shell("m1", `systemctl stop etcd; for f in /var/lib/etcd/member/wal/*.wal; do dd if=/dev/urandom of=$f bs=4096 count=4 conv=notrunc; done; systemctl start --no-block etcd`)
	killed := 0
	args := []string{"etcd", "replace", "m1", "--yes"}
	for ; s.StartRun(args...).KillAt(changed); killed++ {
		if killed > 30 {
			s.T.Fatal("the replacement makes no progress")
		}
		if learners := strings.Count(s.Shell("m2", etcdctl+"member list"), ", true"); learners > 1 {
			s.T.Errorf("there are %d learners", learners)
		}
		args = []string{"resume"}
	}
	s.T.Logf("the controller was killed %d times", killed)
	if killed < 4 {
		s.T.Errorf("the controller was killed %d times, want at least 4", killed)
	}
	s.requireReplaced("m1", before)
}
