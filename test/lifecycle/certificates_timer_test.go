//go:build lab

package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/harness"
)

// certificatesTimer makes the spare host a controller with the timer of
// examples/certificates, for an inventory with which every certificate is due. The service
// renews all of them.
func certificatesTimer(s *site) {
	const controller, serving = "h1", "/var/lib/kubelet/pki/kubelet-serving.crt"
	before := s.Digests(serving, nodes)
	s.Shell(controller, "useradd --system --create-home deployer && install -d -o deployer -m 0700 /etc/deployer")
	defer s.Shell(controller, `systemctl disable --now deployer-certs.timer; systemctl stop deployer-certs.service
rm -rf /etc/systemd/system/deployer-certs.* /etc/deployer /usr/local/bin/deployer; userdel -r deployer; systemctl daemon-reload; systemctl reset-failed; true`)
	s.CopyTo(controller, harness.Binary(s.T), "/usr/local/bin/deployer", "0755")
	s.CopyTo(controller, s.Files.Key(), "/etc/deployer/key", "0600")
	s.CopyTo(controller, s.Files.KnownHosts(), "/etc/deployer/known_hosts", "0600")
	s.Shell(controller, "mkdir /etc/deployer/artifacts")
	s.CopyTo(controller, filepath.Join(s.Files.Artifacts(), "artifacts.yaml"), "/etc/deployer/artifacts/artifacts.yaml", "0644")
	s.CopyTo(controller, s.dueInventory(), "/etc/deployer/inventory.yaml", "0600")
	for _, unit := range []string{"deployer-certs.service", "deployer-certs.timer"} {
		s.CopyTo(controller, filepath.Join("../../examples/certificates", unit), "/etc/systemd/system/"+unit, "0644")
	}
	s.Shell(controller, `chown -R deployer: /etc/deployer
mkdir /etc/systemd/system/deployer-certs.timer.d
printf '[Timer]\nOnCalendar=\nOnCalendar=minutely\nAccuracySec=1s\nRandomizedDelaySec=0\n' > /etc/systemd/system/deployer-certs.timer.d/soon.conf
systemctl daemon-reload && systemctl enable --now deployer-certs.timer`)
	s.Eventually(3*time.Minute, "the timer has started the service", func() error {
		if state := s.Shell(controller, "systemctl show -P ActiveState deployer-certs.service"); state != "activating" {
			return fmt.Errorf("the service is %s", state)
		}
		return nil
	})
	s.Shell(controller, "systemctl disable --now deployer-certs.timer")
	s.Eventually(10*time.Minute, "the service ends", func() error {
		if state := s.Shell(controller, "systemctl show -P ActiveState deployer-certs.service"); state == "activating" {
			return fmt.Errorf("it runs")
		}
		return nil
	})
	if got := s.Shell(controller, "systemctl show -P Result -P ExecMainStatus deployer-certs.service | paste -sd' '"); got != "success 0" {
		s.T.Errorf("the service ended with %q:\n%s", got, s.Shell(controller, "journalctl -u deployer-certs.service -n 60 -o cat"))
	}
	after := s.Digests(serving, nodes)
	for _, n := range nodes {
		if after[n] == before[n] {
			s.T.Errorf("%s still has the certificate that it had before", n)
		}
	}
	s.Must("certs", "list")
	s.RequireReady(nodes)
	s.unchanged("after the renewal by the timer")
}

// dueInventory writes the inventory for a controller that has its files in /etc/deployer.
// Each certificate that is older than seconds is due.
func (s *site) dueInventory() string {
	s.T.Helper()
	text, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	var inv map[string]any
	if err := yaml.Unmarshal(text, &inv); err != nil {
		s.T.Fatal(err)
	}
	ssh := harness.Section(inv, "ssh")
	for key, value := range ssh {
		switch value {
		case s.Files.Key():
			ssh[key] = "/etc/deployer/key"
		case s.Files.KnownHosts():
			ssh[key] = "/etc/deployer/known_hosts"
		}
	}
	harness.Section(inv, "artifacts")["source"] = "/etc/deployer/artifacts" // only its index is read
	harness.Section(inv, "cluster", "certificates")["renew_before"] = "8759h59m30s"
	out, err := yaml.Marshal(inv)
	if err != nil {
		s.T.Fatal(err)
	}
	if dir := filepath.Dir(s.Files.Key()); strings.Contains(string(out), dir) {
		s.T.Fatalf("the inventory still names files in %s, which the other controller does not have:\n%s", dir, out)
	}
	file := filepath.Join(s.T.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		s.T.Fatal(err)
	}
	return file
}
