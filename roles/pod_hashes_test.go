package roles_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/keyring"
)

// TestPodHashesFollowKeys checks that a changed digest of a key file changes the hash of
// the static pods that mount it, and of no others, and that no manifest contains the
// digest.
func TestPodHashesFollowKeys(t *testing.T) {
	s := newSite(t, "nginx")
	before := hashes(t, s, "m1", nil)
	for file, want := range map[string][]string{
		keyring.EncryptionConf: {"kube-apiserver"},
		keyring.AccountKey:     {"kube-apiserver", "kube-controller-manager"},
		keyring.ClusterKey:     {"kube-controller-manager"},
		keyring.ClusterCert:    {"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"},
		keyring.EtcdKey:        {},
	} {
		changed := []string{}
		for pod, hash := range hashes(t, s, "m1", map[string]any{file: "digest-of-another-content"}) {
			if hash != before[pod] {
				changed = append(changed, pod)
			}
		}
		slices.Sort(changed)
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("pods that restart for %s (-want +got):\n%s", file, diff)
		}
	}
}

// hashes returns the hashes in a host's manifests for digests of the cluster's keys.
func hashes(t *testing.T, s *site, host string, digests map[string]any) map[string]string {
	t.Helper()
	s.found["key_digests"] = digests
	out := map[string]string{}
	for file, text := range s.files(t, host) {
		name, is := strings.CutPrefix(file, "/etc/kubernetes/manifests/")
		if !is {
			continue
		}
		hash := hashOf(text)
		if hash == "" {
			t.Fatalf("%s has no hash", file)
		}
		if strings.Contains(text, "digest-of-another-content") {
			t.Errorf("%s shows the digest of a key file", file)
		}
		out[strings.TrimSuffix(name, ".yaml")] = hash
	}
	return out
}
