//go:build lab

package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Digests returns the digests of a file by host, with mode and owner.
func (s *Site) Digests(file string, hosts []string) map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for _, h := range hosts {
		out[h] = s.Shell(h, "sha256sum "+file+"; stat -c '%a %U %G' "+file)
	}
	return out
}

// ReadyStatus returns the status of a node's condition Ready, from the API of a master: True,
// False or Unknown.
func (s *Site) ReadyStatus(master, node string) string {
	s.T.Helper()
	return s.Kubectl(master, "get node "+node+` -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'`)
}

// RequireReady checks that every node becomes Ready within 30 s and has renewed its
// lease recently: the condition Ready outlives a dead kubelet by 50 s.
func (s *Site) RequireReady(nodes []string) {
	s.T.Helper()
	s.Eventually(30*time.Second, "all nodes are Ready and renew their leases", func() error {
		var bad []string
		for _, n := range nodes {
			ready := s.ReadyStatus("m1", n)
			renewed, err := time.Parse(time.RFC3339, s.Kubectl("m1", "get lease -n kube-node-lease "+n+" -o 'jsonpath={.spec.renewTime}'"))
			if err != nil {
				return err
			}
			if age := time.Since(renewed); ready != "True" || age > 20*time.Second {
				bad = append(bad, fmt.Sprintf("%s: Ready %s, lease %s old", n, ready, age.Round(time.Second)))
			}
		}
		if len(bad) > 0 {
			return fmt.Errorf("%s", strings.Join(slices.Clip(bad), "; "))
		}
		return nil
	})
}
