//go:build lab

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// diagnosed stops a unit of a node: diagnose names it, with its log in an archive that has
// no key of the cluster.
func diagnosed(t *testing.T, s *site, master, node string) {
	s.Shell(node, "systemctl stop deployer-pods.service")
	defer s.Shell(node, "systemctl start deployer-pods.service")
	file := filepath.Join(t.TempDir(), "case.tar.gz")
	o := s.Deployer("diagnose", "--file", file, "--since", "1h")
	s.RequireExit(o, 5)
	s.RequireTexts(o.Stdout, "critical", node, "deployer-pods.service")
	page, err := exec.CommandContext(t.Context(), "tar", "-xzOf", file, "--wildcards", "*/README.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	s.RequireTexts(string(page), node, "deployer-pods.service")
	all, err := exec.CommandContext(t.Context(), "tar", "-xzOf", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{master, node} {
		if !strings.Contains(string(all), host) {
			t.Errorf("the archive has nothing of %s", host)
		}
	}
	key := strings.Split(s.Shell(master, "cat /etc/kubernetes/pki/ca.key"), "\n")
	if strings.Contains(string(all), "PRIVATE KEY") || strings.Contains(string(all), key[1]) {
		t.Error("the archive has a private key")
	}
	if !strings.Contains(string(all), "kube-apiserver") {
		t.Error("the archive has no log of static pods")
	}
}
