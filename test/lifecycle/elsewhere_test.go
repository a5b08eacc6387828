//go:build lab

package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/secrets"
	"deployer/test/harness"
)

// restoredElsewhere empties all masters while the minions run, and restores the
// cluster from a snapshot and the encrypted keys: on the hosts of two masters and on
// another machine, with a controller that is killed while it sends keys and data to
// the hosts. Credentials of clients stay valid. Then the third master comes back.
func restoredElsewhere(s *site) {
	good := s.inventory()
	identity, public := s.identity()
	s.writeBeforeBackup()
	token := s.Kubectl("m1", "create token default --duration 4h")
	kubeconfig := s.Shell("m1", "cat /etc/kubernetes/admin.conf")
	dir := s.T.TempDir()
	s.Must("etcd", "backup", "--to", dir, "--recipient", public)
	snapshot, keys := s.one(dir, "*.db"), s.one(dir, "*.keys.age")
	s.Kubectl("m1", "create configmap after-the-backup")
	running := s.processes(minions...)

	s.setRoles(masters, nil)
	s.Must("reset", "--wipe", "--yes", "--cluster", "lab")
	s.setRoles([]string{"h1", "m1", "m2"}, minions)
	stranger, _ := s.identity()
	restore := []string{"etcd", "restore", snapshot, "--keys", keys, "--yes", "--cluster", "lab", "--identity"}
	refused := s.Deployer(append(restore, stranger)...)
	s.RequireTexts(refused.All(), "it is not encrypted to any key of yours")
	if found := s.Shell("m2", "ls -A /etc/kubernetes /var/lib/etcd 2>/dev/null || true"); strings.Contains(found, "pki") || strings.Contains(found, "member") {
		s.T.Errorf("a restore that was refused has left on m2: %s", found)
	}

	restore = append(restore, identity)
	killed, began := 0, time.Now()
	for args := restore; killed < 8 && s.StartRun(args...).KillAt(changed); killed++ {
		if args = restore; killed%2 == 0 {
			args = []string{"resume"}
		}
	}
	s.T.Logf("the controller was killed %d times", killed)
	// An installation would start the members without data as an empty cluster.
	if s.Shell("m2", "test ! -e /etc/deployer/etcd-restore-unfinished || echo unfinished") == "" {
		s.T.Error("the restore was not killed before the members had their data")
	} else {
		refused := s.Deployer("install")
		s.RequireTexts(refused.All(), "a restore of etcd was interrupted on this host")
		s.requireStopped("etcd", "h1", "m1", "m2")
	}
	s.runbookWith("all-masters-lost", []string{"SNAPSHOT", snapshot, "KEYS", keys, "IDENTITY", identity, "CLUSTER", "lab"})
	s.T.Logf("restored %.0f s after the first command", time.Since(began).Seconds())

	s.RequireReady([]string{"m1", "m2", "n1", "n2", "n3", "h1"})
	s.requireMembers("h1", "m1", "m2")
	s.requireRestored("m2")
	s.Shell("m2", "kubectl --server https://127.0.0.1:6443 --certificate-authority /etc/kubernetes/pki/ca.crt --token "+token+" auth whoami | grep -q system:serviceaccount:default:default")
	s.Shell("m2", "umask 077; cat > /root/former.conf <<'END'\n"+kubeconfig+"\nEND\nkubectl --kubeconfig /root/former.conf get nodes >/dev/null; rm /root/former.conf")
	s.requireProcesses(running, "with the restore", "nginx")
	s.Eventually(5*time.Minute, "pods have noticed the new API servers", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errNotReady(o.Stdout)
		}
		return nil
	})
	s.runbook("all-masters-restored", "")
	s.waitUntilDead("m2", "m3")
	left := filepath.Join(s.T.TempDir(), "left")
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "maintenance")["hooks"] = []any{map[string]any{"name": "provisioner", "phase": "removed",
			"command": []any{"sh", "-c", "echo {{ host.name }} $DEPLOYER_HOST $DEPLOYER_ADDRESS $DEPLOYER_PHASE >> " + left}}}
	})
	s.Must("scale-down", "--dead", "m3", "--yes", "--allow-masters")
	if text, err := os.ReadFile(left); err != nil || string(text) != "m3 m3 "+s.Address("m3")+" removed\n" {
		s.T.Errorf("the hook for hosts that have left wrote %q, %v", text, err)
	}
	s.unchanged("after the restore")

	s.setRoles([]string{"h1", "m1", "m2", "m3"}, minions)
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "etcd")["allow_even"] = true })
	s.Must("scale-up", "m3")
	s.scaleDown("h1")
	s.setInventory(good)
	s.RequireReady(nodes)
	s.requireMembers(masters...)
	s.Must("install")
}

// requireStopped checks that a program does not run on hosts.
func (s *site) requireStopped(program string, hosts ...string) {
	s.T.Helper()
	for _, h := range hosts {
		if pid := s.Shell(h, "pidof "+program+" || true"); pid != "" {
			s.T.Errorf("%s runs on %s: process %s", program, h, pid)
		}
	}
}

// identity creates an age key and returns the path of its file, and its public key.
func (s *site) identity() (file, public string) {
	s.T.Helper()
	text, public, err := secrets.Generate()
	if err != nil {
		s.T.Fatal(err)
	}
	file = filepath.Join(s.T.TempDir(), "age.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
	return file, public
}

// one returns the only file of a directory that matches a pattern.
func (s *site) one(dir, pattern string) string {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		s.T.Fatalf("%s in %s: %v, %v; want one", pattern, dir, files, err)
	}
	return files[0]
}
