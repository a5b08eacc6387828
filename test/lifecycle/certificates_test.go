//go:build lab

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"deployer/test/harness"
)

// certificatesRenewed renews all certificates of all hosts, with a controller that is
// killed at every change.
func certificatesRenewed(s *site) {
	const serving, apiserver = "/var/lib/kubelet/pki/kubelet-serving.crt", "/etc/kubernetes/pki/apiserver/apiserver.crt"
	kubelets, apiservers := s.Digests(serving, nodes), s.Digests(apiserver, masters)
	s.killAtEveryChange([]string{"certs", "renew", "--all", "--yes"}, []string{"resume"})
	for _, renewed := range []struct{ before, after map[string]string }{
		{kubelets, s.Digests(serving, nodes)}, {apiservers, s.Digests(apiserver, masters)},
	} {
		for host, digest := range renewed.before {
			if renewed.after[host] == digest {
				s.T.Errorf("%s still has the certificate that it had before", host)
			}
		}
	}
	s.Must("certs", "list")
	s.RequireReady(nodes)
	s.unchanged("after the renewal")
}

// certificatesExpired gives all hosts certificates that are valid for minutes and
// lets them expire, as in a cluster without maintenance for a year. One command
// restores the cluster.
func certificatesExpired(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "certificates")["leaf_lifetime"] = "6m"
		harness.Section(inv, "cluster", "keeper")["enabled"] = false // it would renew them
	})
	s.Must("install") // the controller manager signs for kubelets with this lifetime
	s.Must("certs", "renew", "--all", "--yes")
	s.Eventually(15*time.Minute, "all certificates have expired", s.allExpired)
	refused := s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes 2>&1 || true")
	s.RequireTexts(refused, "certificate has expired")

	s.setInventory(good)
	began := time.Now()
	s.runbook("certificates-expired", "", unhealthy)
	s.T.Logf("renewed within %.0f s", time.Since(began).Seconds())
	s.RequireReady(nodes)
	s.Must("certs", "list")
	s.Must("install") // the controller manager signs for a year again
	s.Must("verify")
	s.unchanged("after certificates had expired")
}

// unhealthy is the exit code of certs list when a certificate is not ok.
const unhealthy = 5

// allExpired returns an error while any certificate is valid, except those of the
// authorities, which are valid for years.
func (s *site) allExpired() error {
	time.Sleep(5 * time.Second)
	var list struct {
		Certificates []struct {
			Host    string    `json:"host"`
			Name    string    `json:"name"`
			Expires time.Time `json:"expires"`
		} `json:"certificates"`
	}
	o := s.Deployer("certs", "list", "--output", "json")
	if err := json.Unmarshal([]byte(o.Stdout), &list); err != nil {
		s.T.Fatalf("%v: %s", err, o.All())
	}
	var valid []string
	for _, c := range list.Certificates {
		if left := time.Until(c.Expires); left > 0 && left < 24*365*2*time.Hour {
			valid = append(valid, fmt.Sprintf("%s %s for %s", c.Host, c.Name, left.Round(time.Second)))
		}
	}
	if len(list.Certificates) == 0 || len(valid) > 0 {
		return fmt.Errorf("%d certificates, still valid: %s", len(list.Certificates), strings.Join(valid, ", "))
	}
	return nil
}
