//go:build lab

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/lab/plan"
)

// TestSingleNode gives one host every role, with the older of the two versions
// of Kubernetes.
func TestSingleNode(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1})
	s.edit(func(inv map[string]any) {
		roles := section(inv, "roles")
		for _, r := range []string{"master", "minion", "etcd", "proxy"} {
			roles[r] = []any{"m1"}
		}
		section(inv, "cluster")["kubernetes"] = older
	})
	s.must("install")
	s.must("verify")
	if got := s.kubectl("m1", "get node m1 -o 'jsonpath={.status.nodeInfo.kubeletVersion}'"); got != older {
		t.Errorf("the kubelet is %s, want %s", got, older)
	}
	if got := s.kubectl("m1", "get node m1 -o 'jsonpath={.spec.taints}'"); got != "" {
		t.Errorf("the only node has taints %s; nothing could run on it", got)
	}
	lostReceipts(t, s, "m1")
	renewedCertificate(t, s, "m1")
	lostEncryptionKey(t, s, "m1")
	rebooted(t, s, "m1")
}

// lostReceipts takes from a host what deployer remembers of it. It is known as our
// own all the same, and nothing that runs is touched; of the images for verify's
// tests only the newest stays.
func lostReceipts(t *testing.T, s *site, host string) {
	image := s.shell(host, `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:'`)
	s.shell(host, "rm -r /var/lib/deployer/receipts; ctr -n k8s.io images tag "+image+" deployer.local/probe:older")
	before := s.processes(host)
	s.must("install")
	if diff := cmp.Diff(before, s.processes(host)); diff != "" {
		t.Errorf("%s: install without receipts changed processes (-before +after):\n%s", host, diff)
	}
	if got := s.shell(host, `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:'`); got != image {
		t.Errorf("%s has the probe images %q, want only %s", host, got, image)
	}
	if _, r := s.events(s.must("install", "--output", "json")); r.changed() != 0 {
		t.Errorf("the next install: %d changed, want 0", r.changed())
	}
}

// rebooted holds that a host comes back by itself as it was.
func rebooted(t *testing.T, s *site, host string) {
	if err := s.Reboot(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	s.eventually(2*time.Minute, "the cluster is healthy after a reboot", func() error {
		if o := s.deployer("verify"); o.code != 0 {
			return errors.New(o.stdout)
		}
		return nil
	})
	if _, r := s.events(s.must("install", "--output", "json")); r.changed() != 0 {
		t.Errorf("install after a reboot: %d changed, want 0", r.changed())
	}
}

// TestDedicatedEtcd runs etcd elsewhere than on the master, and a load balancer
// for clients outside on a host that is no node; with the other kind of CNI, an
// audit log, registry mirrors, an override for one host only, and hosts that lack
// packages which a package source in the lab has.
func TestDedicatedEtcd(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 2, Etcd: 3, Proxies: 1})
	m := s.mirrors()
	s.edit(func(inv map[string]any) {
		section(inv, "cluster", "network")["cni"] = "ptp"
		section(inv, "cluster", "api", "audit")["enabled"] = true
		containerd := section(inv, "cluster", "containerd")
		containerd["mirrors"] = map[string]any{"docker.io": []any{m.plain}, "quay.io": []any{m.secure}}
		containerd["authorities"] = map[string]any{m.host: m.authority}
		section(inv, "hosts", "n1", "overrides", "kubelet")["maxPods"] = 42
	})
	gone := append(s.purge("n1", "conntrack", "bird2"), s.purge("p1", "nginx", "nginx-common", "libnginx-mod-stream")...)
	s.packageSource(gone, "n1", "p1")
	events, _ := s.events(s.must("install", "--output", "json"))
	for host, want := range map[string]string{"n1": "not installed yet: bird2, conntrack; a package source offers them", "p1": "not installed yet: libnginx-mod-stream, nginx; a package source offers them", "m1": "all 7 installed"} {
		if got := preflight(events, host, "packages"); got != want {
			t.Errorf("preflight says of the packages of %s: %q, want %q", host, got, want)
		}
	}
	s.must("verify")
	s.pulls("m1", "n1", "docker.io/"+sampleImage)
	s.pulls("m1", "n1", "quay.io/"+sampleImage)
	if out, _ := s.SSH(t.Context(), "m1", "pidof etcd"); strings.TrimSpace(out) != "" {
		t.Error("etcd runs on the master although hosts were named for it")
	}
	s.shell("m1", "test -s /var/log/kubernetes/audit/audit.log")
	if m1, n1 := s.pods("m1"), s.pods("n1"); m1 != "110" || n1 != "42" {
		t.Errorf("m1 may run %s pods and n1 %s, want 110 and 42", m1, n1)
	}
	for _, h := range []string{"e1", "e2", "e3"} {
		s.shell(h, "systemctl is-active etcd")
		if got := s.shell(h, "ps -o user= -C etcd; find /var/lib/etcd ! -user etcd"); got != "etcd" {
			t.Errorf("%s: etcd runs as, and has files of others: %s", h, got)
		}
	}
	if got := s.shell("n1", fmt.Sprintf("curl -sS --cacert /etc/kubernetes/pki/ca.crt https://%s:6443/readyz", s.address("p1"))); got != "ok" {
		t.Errorf("the API through the proxy host says %q", got)
	}
	t.Run("a minion becomes a proxy", func(t *testing.T) { becomesProxy(t, s.on(t), "n2", "n1") })
	t.Run("what the inventory no longer names", func(t *testing.T) { leftovers(t, s.on(t)) })
}

// pods is how many pods a node may run.
func (s *site) pods(node string) string {
	return s.kubectl("m1", "get node "+node+" -o 'jsonpath={.status.capacity.pods}'")
}

// older is the version of Kubernetes before the default one.
const older = "v1.35.4"

// TestHAProxy is a cluster whose nodes, and clients outside, reach the API through
// HAProxy and learn routes from two reflectors, and the loss of a master, a
// reflector, under it.
func TestHAProxy(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 2, Proxies: 1})
	s.edit(func(inv map[string]any) {
		section(inv, "cluster", "proxy")["kind"] = "haproxy"
		section(inv, "cluster", "network")["reflectors"] = []any{"m1", "m2"}
	})
	s.must("install")
	s.must("verify")
	s.shell("n1", "pidof haproxy")
	s.shell("p1", "systemctl is-active deployer-proxy && pidof haproxy")
	outside := func() string {
		return s.shell("p1", fmt.Sprintf("curl -sS -k --max-time 5 https://%s:6443/readyz", s.address("p1")))
	}
	if got := outside(); got != "ok" {
		t.Errorf("the API through the proxy host says %q", got)
	}
	if got := s.shell("n1", "birdc show protocols | grep -c Established"); got != "2" {
		t.Errorf("n1 has %s BGP sessions, want one with each of the 2 reflectors", got)
	}
	rogueRouter(t, s, "n1", "n2", "m1", "m2", "n2")
	t.Run("a port that is taken", func(t *testing.T) { takenPort(s.on(t), outside) })
	s.moveLeader("m1")
	stopMaster(t, s, false)
	for range 5 {
		if got := outside(); got != "ok" {
			t.Errorf("a master is dead, and the API through the proxy host says %q", got)
		}
	}
	routes := s.shell("n1", "ip route show proto bird")
	for _, node := range []string{"m1", "m3", "n2"} {
		if !strings.Contains(routes, "via "+s.address(node)+" ") {
			t.Errorf("n1 has no route to the pods of %s after a reflector died:\n%s", node, routes)
		}
	}
}

// takenPort gives the load balancer a port that sshd has: that is found before
// anything is changed, and clients outside reach the API as before.
func takenPort(s *site, outside func() string) {
	good, err := os.ReadFile(s.inventory)
	if err != nil {
		s.t.Fatal(err)
	}
	before := s.digests("/etc/deployer/haproxy.conf", []string{"p1"})
	s.edit(func(inv map[string]any) { section(inv, "cluster", "proxy")["port"] = 22 })
	o := s.deployer("install")
	if err := os.WriteFile(s.inventory, good, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if o.code != 4 {
		s.t.Fatalf("exit %d, want 4\n%s", o.code, o.all())
	}
	s.requireTexts(o.all(), "p1", "22", "nothing was changed")
	if diff := cmp.Diff(before, s.digests("/etc/deployer/haproxy.conf", []string{"p1"})); diff != "" {
		s.t.Errorf("configuration (- before, + after): %s", diff)
	}
	if got := outside(); got != "ok" {
		s.t.Errorf("the API through the proxy host says %q", got)
	}
}

// TestKilledInstall interrupts an install once, another one twice, then kills deployer with -9 in
// the middle of it several times, and installs again.
func TestKilledInstall(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 1})
	interruptInstall(t, s, 2*time.Second)
	interruptTwice(t, s, 3*time.Second, 4*time.Second, 6*time.Second, 8*time.Second)
	for _, after := range []time.Duration{3 * time.Second, 8 * time.Second, 15 * time.Second} {
		cmd := s.command(t.Context(), "install")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		t.Logf("killed after %s: %v", after, err)
	}
	s.must("install")
	s.must("verify")
	if out := s.shell("m1", "etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt --key /etc/kubernetes/pki/etcd/healthcheck-client.key member list"); strings.Count(out, "started") != 3 || len(strings.Split(out, "\n")) != 3 {
		t.Errorf("etcd members, want 3 started:\n%s", out)
	}
	_, r := s.events(s.must("install", "--output", "json"))
	if r.changed() != 0 {
		t.Errorf("install after the repaired one: %d changed, want 0", r.changed())
	}
}

// interruptInstall sends SIGINT to an install: the steps in flight end, and deployer
// says how to go on.
func interruptInstall(t *testing.T, s *site, after time.Duration) {
	cmd := s.command(t.Context(), "install")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer timer.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("interrupted install: exit %d, want 130", code)
	}
	for _, want := range []string{"finishing the steps in flight", "install interrupted", "to continue, run:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output of the interrupted install does not say %q:\n%s", want, out.String())
		}
	}
}

// interruptTwice sends SIGINT to an install, and another one while the steps in
// flight end: deployer ends at once, and says what that may have left. Where
// nothing is in flight the first one has ended it, and a later moment is tried.
func interruptTwice(t *testing.T, s *site, moments ...time.Duration) {
	for _, after := range moments {
		cmd := s.command(t.Context(), "install")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Signal(os.Interrupt)
		time.Sleep(50 * time.Millisecond) // two signals at one moment would be one
		second := time.Now()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		// Not a measurement: it shows that nothing is waited for that could hang.
		if took := time.Since(second); took > 20*time.Second {
			t.Errorf("deployer ended only %s after the second interrupt", took.Round(time.Millisecond))
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("install interrupted twice: exit %d, want 130", code)
		}
		if !strings.Contains(out.String(), "stopped by a second interrupt") {
			t.Logf("the first interrupt, after %s, found nothing in flight:\n%s", after, out.String())
			continue
		}
		s.requireTexts(out.String(), "the next run repairs them", "to continue, run:")
		return
	}
	t.Errorf("no install was stopped by a second interrupt after %v", moments)
}

// TestOddHosts installs as a user with sudo, on hosts whose shell start-up makes
// noise and whose /tmp allows no execution; one of them lies behind the other as
// its bastion, and its sudo wants a password.
func TestOddHosts(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 1})
	for _, h := range []string{"m1", "n1"} {
		s.shell(h, "mount -t tmpfs -o noexec,nosuid tmpfs /tmp")
		for _, file := range []string{"/home/ops/.bashrc", "/home/ops/.profile", "/home/pw/.bashrc", "/etc/bash.bashrc"} {
			s.shell(h, fmt.Sprintf(`sed -i '1i echo "Welcome to %s, have a nice day"; echo "this host is noisy" >&2' %s 2>/dev/null || printf 'echo Welcome\necho noisy >&2\n' > %s`, h, file, file))
		}
	}
	s.edit(func(inv map[string]any) {
		ssh := section(inv, "ssh")
		ssh["user"], ssh["become"] = "ops", "sudo"
		behind := section(inv, "hosts", "n1", "ssh")
		behind["user"], behind["become_password_env"] = "pw", "LAB_SUDO_PASSWORD"
		behind["bastion"] = map[string]any{"host": "m1"}
	})
	t.Setenv("LAB_SUDO_PASSWORD", "lab-password")
	o := s.must("install", "-v", "-v")
	noSecrets(t, s, o)
	s.must("verify")
}

// noSecrets looks for the keys that an install makes in everything that it said
// and kept on the controller.
func noSecrets(t *testing.T, s *site, o outcome) {
	journals, err := filepath.Glob(filepath.Join(s.state, "deployer", "runs", "*"))
	if err != nil || len(journals) == 0 {
		t.Fatalf("no journal in %s: %v", s.state, err)
	}
	texts := map[string]string{"output": o.all()}
	for _, path := range journals {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(content)
	}
	secrets := []string{"PRIVATE KEY", "lab-password"}
	for _, file := range []string{"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/sa.key", "/etc/kubernetes/encryption.yaml"} {
		for line := range strings.Lines(s.shell("m1", "cat "+file)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "secret:") || len(line) == 64 {
				secrets = append(secrets, strings.TrimSpace(strings.TrimPrefix(line, "secret:")))
			}
		}
	}
	if len(secrets) < 5 {
		t.Fatalf("found only %d secrets to look for", len(secrets))
	}
	for name, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds a secret (%.8s...)", name, secret)
			}
		}
	}
}
