//go:build lab

package lifecycle

import (
	"strings"
	"time"

	"deployer/cluster"
	"deployer/test/harness"
)

// databaseFull fills etcd's database with history up to a small quota, so that etcd
// refuses writes, and makes it writable with one command. No member ends meanwhile.
func databaseFull(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "etcd")["quota_backend_bytes"] = 96 << 20
	})
	s.Must("install")
	processes := func() string {
		var all strings.Builder
		for _, m := range masters {
			all.WriteString(s.Shell(m, "systemctl show etcd -p InvocationID") + "\n")
		}
		return all.String()
	}
	members := func() (out []cluster.EtcdMemberState) {
		for _, m := range masters {
			out = append(out, s.etcdMember(m))
		}
		return out
	}
	running := processes()
	out := s.Shell("m1", "for i in $(seq 200); do head -c 700000 /dev/urandom | base64 -w0 | "+etcdctl+"put /deployer-test/filler 2>&1 >/dev/null || exit 0; done")
	s.RequireTexts(out, "database space exceeded")
	began := time.Now()
	status := s.Deployer("etcd", "status")
	s.RequireExit(status, 5)
	s.RequireTexts(status.Stdout, "NOSPACE", "deployer etcd defrag")
	if refused := s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf create configmap database-full 2>&1 || true"); !strings.Contains(refused, "space exceeded") {
		s.T.Errorf("a write to the full database: %s", refused)
	}
	before := members()
	s.runbook("database-full", "")
	s.T.Logf("writes were refused for at least %.0f s", time.Since(began).Seconds())
	s.Kubectl("m1", "create configmap database-full")
	s.Kubectl("m1", "delete configmap database-full")
	for i, now := range members() {
		was := before[i]
		s.T.Logf("%s: %d MiB, %.0f %% unused; after it %d MiB, %.0f %% unused", now.Host, was.DBSize>>20, 100*was.Fragmentation(), now.DBSize>>20, 100*now.Fragmentation())
		if now.DBSize > was.DBSize/2 || now.DBSize >= now.Quota {
			s.T.Errorf("the database of %s had %d bytes, and has %d of %d", now.Host, was.DBSize, now.DBSize, now.Quota)
		}
	}
	s.requireLeaderLast(before)
	if now := processes(); now != running {
		s.T.Errorf("members have started anew:\n%s\nbefore:\n%s", now, running)
	}
	s.Shell("m1", etcdctl+"del /deployer-test/filler")
	s.setInventory(good)
	s.Must("install")
	s.RequireReady(nodes)
}

// requireLeaderLast checks in the logs of the members that the leader was defragmented after
// the others. The hosts have the clock of this machine.
func (s *site) requireLeaderLast(members []cluster.EtcdMemberState) {
	s.T.Helper()
	last, lastOf := "", ""
	for _, m := range members {
		at := s.Shell(m.Host, "journalctl -q -u etcd -o short-iso-precise --grep 'finished defragmenting directory' -n 1 | cut -d ' ' -f 1")
		if at == "" {
			s.T.Errorf("etcd on %s was not defragmented", m.Host)
		}
		if at > last {
			last, lastOf = at, m.Host
		}
	}
	for _, m := range members {
		if m.Leader && m.Host != lastOf {
			s.T.Errorf("the leader on %s was defragmented before %s", m.Host, lastOf)
		}
	}
}
