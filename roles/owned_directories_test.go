package roles_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/project"
)

// TestOwnedDirectoriesListEveryFile compares the files that the leftovers rule keeps
// with the files that the roles write: a missing entry would remove a file in each run,
// and a superfluous one would keep a file forever. Each file begins with the marker line
// of deployer.
func TestOwnedDirectoriesListEveryFile(t *testing.T) {
	for name := range goldenHosts() {
		s := newSite(t, name)
		for _, host := range project.ClusterHosts(s.inv, s.cluster) {
			files := s.files(t, host)
			for _, owned := range s.cluster.Nodes[host].Owned {
				kept := slices.Clone(owned.Keep)
				for file, content := range files {
					rel, err := filepath.Rel(owned.Path, file)
					if err != nil {
						continue
					}
					if ok, err := filepath.Match(owned.Files, rel); err != nil || !ok {
						continue
					}
					if !slices.Contains(owned.Keep, rel) {
						t.Errorf("%s, %s: the roles write %s, and it would be removed as left over from %s", name, host, file, owned.Path)
					}
					if !strings.HasPrefix(strings.TrimPrefix(content, `{"`), "# Written by deployer") {
						t.Errorf("%s, %s: %s begins with %.30q, so it would stay for ever", name, host, file, content)
					}
					kept = slices.DeleteFunc(kept, func(k string) bool { return k == rel })
				}
				// The host fetches it itself, so no template renders it.
				kept = slices.DeleteFunc(kept, func(k string) bool { return k == "bgp-password.conf" })
				if len(kept) > 0 {
					t.Errorf("%s, %s: nothing writes %v below %s", name, host, kept, owned.Path)
				}
			}
		}
	}
}
