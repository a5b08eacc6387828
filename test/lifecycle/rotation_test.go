//go:build lab

package lifecycle

import (
	"fmt"
	"strings"
)

// serving waits until the API server of a master is ready: a killed run may have left it
// in the middle of a restart.
func (s *site) serving(master string) {
	s.T.Helper()
	s.Shell(master, "for i in $(seq 120); do kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz >/dev/null 2>&1 && exit 0; sleep 0.5; done; exit 1")
}

// encryptionKeyRotated replaces the key that encrypts Secrets, with a controller that
// is killed repeatedly. After each kill every API server reads every Secret.
func encryptionKeyRotated(s *site) {
	written := 0
	write := func() {
		written++
		s.serving(masters[written%len(masters)])
		s.Kubectl(masters[written%len(masters)], fmt.Sprintf("create secret generic rotation-%d --from-literal=key=value", written))
	}
	requireReadable := func(when string) {
		s.T.Helper()
		for _, m := range masters {
			s.serving(m)
			got := s.Kubectl(m, "get secrets -o 'jsonpath={.items[*].data.key}'")
			if n := strings.Count(got, "dmFsdWU="); n != written {
				s.T.Errorf("%s, the API server of %s reads %d Secrets of %d", when, m, n, written)
			}
		}
	}
	before := s.Digests("/etc/kubernetes/encryption.yaml", masters)
	write()
	killed, changes := 0, 0
	args := []string{"certs", "rotate-encryption-key"}
	for {
		left := 1 + s.suite.random.IntN(4) // changes until the next kill
		if !s.StartRun(args...).KillAt(func(e map[string]any) bool {
			if changed(e) {
				left--
				changes++
			}
			return left == 0
		}) {
			break
		}
		killed++
		write()
		requireReadable(fmt.Sprintf("after kill %d", killed))
		if killed > 40 {
			s.T.Fatal("the rotation makes no progress")
		}
		if killed%2 == 1 {
			args = []string{"resume"}
		} else {
			args = []string{"certs", "rotate-encryption-key"}
		}
	}
	s.T.Logf("the controller was killed %d times in %d changes", killed, changes)
	write()
	requireReadable("after the rotation")
	after := s.Digests("/etc/kubernetes/encryption.yaml", masters)
	for _, m := range masters {
		if after[m] == before[m] || after[m] != after[masters[0]] {
			s.T.Errorf("%s has the file %s after the rotation; before %s, %s has %s", m, after[m], before[m], masters[0], after[masters[0]])
		}
		if keys := s.Shell(m, "grep -c 'name: key' /etc/kubernetes/encryption.yaml"); strings.TrimSpace(keys) != "1" {
			s.T.Errorf("%s has %s keys after the rotation, want 1", m, keys)
		}
	}
	for i := range written {
		s.Kubectl("m1", fmt.Sprintf("delete secret rotation-%d", i+1))
	}
	s.unchanged("after the rotation")
}
