//go:build lab

package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/cis"
)

// auditLogged runs a command in a pod and reads a Secret, and checks that the audit log of
// the master has both and is readable by root only.
func auditLogged(t *testing.T, s *site) {
	const log = "/var/log/kubernetes/audit/audit.log"
	s.Kubectl("m1", "-n kube-system exec kube-scheduler-m1 -- kube-scheduler --version")
	s.Kubectl("m1", "-n default get secret never-made --ignore-not-found")
	for request, pattern := range map[string]string{
		"kubectl exec":       `"requestURI":"/api/v1/namespaces/kube-system/pods/kube-scheduler-m1/exec?.*"subresource":"exec"`,
		"kubectl get secret": `"verb":"get","user":{"username":"kubernetes-admin".*"objectRef":{"resource":"secrets","namespace":"default","name":"never-made"`,
	} {
		s.Eventually(10*time.Second, request+" is in the audit log", func() error {
			if out, err := s.SSH(t.Context(), "m1", "grep -c '"+pattern+"' "+log); err != nil {
				return errors.New("no line matches: " + out)
			}
			return nil
		})
	}
	if mode := s.Shell("m1", "stat -c %a:%U "+log); mode != "600:root" {
		t.Errorf("the audit log is %s, want 600:root", mode)
	}
}

// podSecurity creates a pod in the host network: it is refused in a namespace without
// labels and admitted in kube-system.
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

// lostEncryptionKey removes the encryption key from the only master. An install creates a
// new one only with --new-encryption-key, and the API server runs with it.
func lostEncryptionKey(t *testing.T, s *site, master string) {
	const file = "/etc/kubernetes/encryption.yaml"
	s.Shell(master, "mv "+file+" /root/encryption.yaml")
	if o := s.Deployer("install"); o.Code == 0 || !strings.Contains(o.All(), "etcd has data on "+master) || !strings.Contains(o.All(), "--new-encryption-key") {
		t.Errorf("install without the encryption key: exit %d\n%s", o.Code, o.All())
	}
	s.Shell(master, "test ! -e "+file)
	before := s.Processes(master)
	s.Must("install", "--new-encryption-key")
	s.Shell(master, "! cmp -s "+file+" /root/encryption.yaml; rm /root/encryption.yaml")
	var restarted []string
	after := s.Processes(master)
	for line := range strings.Lines(before) {
		if process := strings.TrimSpace(line); !strings.Contains(after, process) {
			restarted = append(restarted, strings.Fields(process)[0])
		}
	}
	// The controller manager and the scheduler of the only master exit and are
	// restarted when the API server is away for longer than their leases.
	byThemselves := []string{"kube-controller", "kube-controller-manager", "kube-scheduler"}
	restarted = slices.DeleteFunc(restarted, func(name string) bool { return slices.Contains(byThemselves, name) })
	if !slices.Equal(restarted, []string{"kube-apiserver"}) {
		t.Errorf("with the new key restarted %v, want the API server", restarted)
	}
	s.Kubectl(master, "create secret generic of-the-new-key --from-literal=a=b")
	s.Kubectl(master, "get secret of-the-new-key")
}

// benchmark evaluates the checks of docs/security.md on a master and a minion, and
// requests pods from the API that it must refuse.
func benchmark(t *testing.T, s *site, minion string) {
	sections, err := cis.Sections()
	if err != nil {
		t.Fatal(err)
	}
	evaluate := func(host, script string, checks []cis.Check) {
		h, err := cis.Parse(s.Shell(host, script))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if err := c.Evaluate(h); err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	nodes := cis.Testable(sections, cis.Nodes)
	master := slices.Concat(nodes, cis.Testable(sections, cis.Masters), cis.Testable(sections, cis.Etcd))
	evaluate(minion, cis.Script(nodes), nodes)
	evaluate("m1", cis.Script(master), master)
	pods := cis.Testable(sections, "")
	evaluate("m1", cis.RefusalScript(pods), pods)
}

// renewedCertificate renews the certificate of the API server, which uses the new one
// within 75 s, without a restart.
func renewedCertificate(t *testing.T, s *site, master string) {
	const file = "/etc/kubernetes/pki/apiserver/apiserver.crt"
	before := s.Processes(master)
	s.Shell(master, "rm "+file)
	s.Must("install")
	// The first line of the PEM holds the serial number. The API server reads its
	// files when they change, and every minute.
	s.Eventually(75*time.Second, "the API server shows its new certificate", func() error {
		_, err := s.SSH(t.Context(), master, `curl -sSk -o /dev/null -w '%{certs}' https://127.0.0.1:6443/readyz | grep -qF "$(sed -n 2p `+file+`)"`)
		return err
	})
	if diff := cmp.Diff(before, s.Processes(master)); diff != "" {
		t.Errorf("%s: a renewed certificate changed processes (-before +after):\n%s", master, diff)
	}
}
