//go:build lab

package e2e

import (
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestInterruptedChecks kills commands that change a cluster for good, and asks each for a dry run
// then: the answer must be true of a cluster that is half changed, and must not change it.
func TestInterruptedChecks(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 2})
	s.Must("install")
	t.Run("scale-down", func(t *testing.T) {
		s := s.on(t)
		s.interrupted([]string{"scale-down", "n2"}, []string{"--yes"}, []interruption{
			{step: "cordon the nodes that leave", says: []string{"drain the node", "stop the kubelet and remove its unit", "this was a dry run"}},
			{step: "stop the kubelet and remove its unit", says: []string{"delete the Node object of a former node", "this was a dry run"}},
			{step: "delete the Node object of a former node", says: []string{"remove files, programs and data of the cluster", "this was a dry run"}},
			{step: "remove files, programs and data of the cluster", says: []string{"nothing was changed"}},
		})
		s.Must("scale-up")
	})
	t.Run("etcd replace", func(t *testing.T) {
		s := s.on(t)
		s.interrupted([]string{"etcd", "replace", "m2"}, []string{"--yes"}, []interruption{
			{step: "the etcd cluster removes the member", says: []string{"the cluster lists no member for the host", "its data is kept as", "an empty member joins as a learner"}},
			{step: "move the former data aside", says: []string{"the cluster lists no member for the host", "an empty member joins as a learner"}},
			{step: "etcd runs", says: []string{"m1, m3 serve", "is removed", "an empty member joins as a learner"}},
		})
	})
	t.Run("etcd restore", func(t *testing.T) {
		s := s.on(t)
		dir := t.TempDir()
		s.Must("etcd", "backup", "--to", dir)
		files, err := filepath.Glob(filepath.Join(dir, "*.db"))
		if err != nil || len(files) != 1 {
			t.Fatalf("copies of the snapshot: %v, %v; want one", files, err)
		}
		s.interrupted([]string{"etcd", "restore", files[0]}, []string{"--yes", "--cluster", "lab"}, []interruption{
			{step: "restore the data of this member from the snapshot"},
			{step: "remove the manifest of the API server"},
			{step: "mark the restore as unfinished"},
			{step: "replace the data of this member by the restored data"},
			{step: "restore the manifest of the API server"},
		})
	})
	t.Run("certs rotate-ca", func(t *testing.T) {
		s := s.on(t)
		s.interrupted([]string{"certs", "rotate-ca", "--again"}, []string{"--yes"}, []interruption{
			{step: "new authorities beside the present ones"},
			{step: "API server"},
			{step: "the new authorities sign"},
			{step: "no former authorities"},
		})
	})
	t.Run("etcd readdress", func(t *testing.T) {
		s := s.on(t)
		s.changeAllAddresses()
		possible := []string{"nothing was changed; etcd can be readdressed: m1, m2, m3 have other addresses"}
		unfinished := []string{"the data of etcd is being replaced: continue with deployer resume RUN"}
		s.interrupted([]string{"etcd", "readdress"}, []string{"--yes", "--cluster", "lab"}, []interruption{
			{step: "restore the data of this member from the snapshot", says: possible},
			{step: "remove the manifest of the API server", says: possible},
			{step: "mark the replacement of the data as unfinished", code: 4, says: unfinished, apply: true},
			{step: "replace the data of this member by the restored data", code: 4, says: unfinished, apply: true},
			{step: "remove the record of the restore", code: 4, says: unfinished, apply: true},
			{step: "etcd runs", code: 4, says: unfinished, apply: true},
			{step: "API server", code: 4, says: unfinished, apply: true},
		})
	})
	s.Must("verify")
}

// interruption is a kill of a command, and what its dry run says then.
type interruption struct {
	step string // the command is killed when the step has changed a host
	code int    // exit code of the dry run
	says []string
	// apply is true when apply must be refused, and name the continuation.
	apply bool
}

// interrupted starts a command, kills it, asks for a dry run, lets deployer resume continue it to
// the next kill, and so on, and in the end to its end.
func (s *site) interrupted(command, confirmed []string, kills []interruption) {
	s.T.Helper()
	run := slices.Concat(command, confirmed)
	for _, kill := range kills {
		if !s.StartRun(run...).KillAt(func(e map[string]any) bool {
			result, _ := e["result"].(map[string]any)
			return e["type"] == "step.end" && e["name"] == kill.step && result["status"] == "changed"
		}) {
			s.T.Fatalf("deployer %s: the step %q changed no host", strings.Join(run, " "), kill.step)
		}
		before := s.traces()
		o := s.Deployer(slices.Concat(command, []string{"--check"})...)
		s.T.Logf("killed at %q, --check says, exit %d:\n%s", kill.step, o.Code, o.All())
		s.RequireExit(o, kill.code)
		s.RequireTexts(o.All(), kill.says...)
		if diff := cmp.Diff(before, s.traces()); diff != "" {
			s.T.Errorf("the dry run after %q changed hosts (- before, + after): %s", kill.step, diff)
		}
		if kill.apply {
			o := s.Deployer("apply", "-i", s.Inventory, "--yes")
			s.RequireExit(o, 4)
			s.RequireTexts(o.All(), "a restore or readdress of etcd was interrupted on", "deployer resume RUN")
		}
		run = []string{"resume"}
	}
	s.Must(run...)
}

// traces returns for each host what commands that change a cluster would leave on it.
func (s *site) traces() map[string]string {
	out := map[string]string{}
	for _, h := range s.Hosts {
		out[h.Name] = s.Shell(h.Name, `find /etc/kubernetes /etc/etcd /etc/deployer /etc/systemd/system /var/lib/etcd /var/lib/deployer/etcd-restore /var/lib/deployer/etcd-snapshots \
			-not -path '*/wal/*' -not -path '*/snap/*' -printf '%p %s %m %l\n' 2>/dev/null | sort; find /etc/kubernetes/pki /etc/kubernetes/manifests -type f -exec sha256sum {} + 2>/dev/null | sort; true`)
	}
	return out
}

// changeAllAddresses cuts the power of all masters and boots them with another address.
func (s *site) changeAllAddresses() {
	s.T.Helper()
	to := map[string]string{}
	for _, h := range s.Hosts {
		if strings.HasPrefix(h.Name, "m") {
			bytes := h.Address.As4()
			bytes[3] += 100
			to[h.Name] = netip.AddrFrom4(bytes).String()
		}
	}
	masters := slices.Sorted(maps.Keys(to))
	for _, host := range masters {
		if err := s.Kill(s.T.Context(), host); err != nil {
			s.T.Fatal(err)
		}
	}
	for _, host := range masters {
		if err := s.Readdress(s.T.Context(), host, to[host]); err != nil {
			s.T.Fatal(err)
		}
		s.Edit(func(inv map[string]any) { harness.Section(inv, "hosts", host)["address"] = to[host] })
	}
}
