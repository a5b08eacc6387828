//go:build lab

package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// auditLogged runs a command in a pod and reads a Secret; the log of the master
// that was asked has both, and nobody but root can read the log.
func auditLogged(t *testing.T, s *site) {
	const log = "/var/log/kubernetes/audit/audit.log"
	s.kubectl("m1", "-n kube-system exec kube-scheduler-m1 -- kube-scheduler --version")
	s.kubectl("m1", "-n default get secret never-made --ignore-not-found")
	for request, pattern := range map[string]string{
		"kubectl exec":       `"requestURI":"/api/v1/namespaces/kube-system/pods/kube-scheduler-m1/exec?.*"subresource":"exec"`,
		"kubectl get secret": `"verb":"get","user":{"username":"kubernetes-admin".*"objectRef":{"resource":"secrets","namespace":"default","name":"never-made"`,
	} {
		s.eventually(10*time.Second, request+" is in the audit log", func() error {
			if out, err := s.SSH(t.Context(), "m1", "grep -c '"+pattern+"' "+log); err != nil {
				return errors.New("no line matches: " + out)
			}
			return nil
		})
	}
	if mode := s.shell("m1", "stat -c %a:%U "+log); mode != "600:root" {
		t.Errorf("the audit log is %s, want 600:root", mode)
	}
}

// podSecurity asks for a pod on the node's network: it is refused in a namespace
// without labels and admitted in kube-system.
func podSecurity(t *testing.T, s *site) {
	run := func(namespace string) (string, error) {
		return s.SSH(t.Context(), "m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf -n "+namespace+
			` run host --image=none --dry-run=server --overrides='{"spec":{"hostNetwork":true}}' 2>&1`)
	}
	if out, err := run("default"); err == nil || !strings.Contains(out, `violates PodSecurity "baseline:latest"`) {
		t.Errorf("a pod with hostNetwork in default: %v, %s", err, out)
	}
	if out, err := run("kube-system"); err != nil {
		t.Errorf("a pod with hostNetwork in kube-system: %v, %s", err, out)
	}
}

// lostEncryptionKey takes the encryption key from the only master. No install makes
// a new one by itself; told to, it does, and the API server runs with it.
func lostEncryptionKey(t *testing.T, s *site, master string) {
	const file = "/etc/kubernetes/encryption.yaml"
	s.shell(master, "mv "+file+" /root/encryption.yaml")
	if o := s.deployer("install"); o.code == 0 || !strings.Contains(o.all(), "etcd has data on "+master) || !strings.Contains(o.all(), "--new-encryption-key") {
		t.Errorf("install without the encryption key: exit %d\n%s", o.code, o.all())
	}
	s.shell(master, "test ! -e "+file)
	before := s.processes(master)
	s.must("install", "--new-encryption-key")
	s.shell(master, "! cmp -s "+file+" /root/encryption.yaml; rm /root/encryption.yaml")
	var restarted []string
	after := s.processes(master)
	for line := range strings.Lines(before) {
		if process := strings.TrimSpace(line); !strings.Contains(after, process) {
			restarted = append(restarted, strings.Fields(process)[0])
		}
	}
	// Controller manager and scheduler end by themselves when the only API server is
	// away for longer than they may go without renewing their lease (10 s).
	restarted = slices.DeleteFunc(restarted, func(name string) bool {
		return name == "kube-scheduler" || strings.HasPrefix(name, "kube-controller")
	})
	if !slices.Equal(restarted, []string{"kube-apiserver"}) {
		t.Errorf("with the new key restarted %v, want the API server alone", restarted)
	}
	s.kubectl(master, "create secret generic of-the-new-key --from-literal=a=b")
	s.kubectl(master, "get secret of-the-new-key")
}
