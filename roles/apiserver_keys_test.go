package roles_test

import (
	"testing"

	"deployer/engine/lang"
	"deployer/roles"
)

// TestAPIServerHasItsKeysBeforeItsManifest checks that a host gets the key files right
// before the manifest with their digests: the hash of a manifest is the proof that the API
// server has read them.
func TestAPIServerHasItsKeysBeforeItsManifest(t *testing.T) {
	for _, book := range []string{"install", "upgrade", "scale-up", "certs-rotate-encryption-key", "certs-rotate-ca"} {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+book+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		manifests, written := 0, false
		for _, task := range p.Tasks {
			switch {
			case task.Role != "apiserver":
				written = false
			case task.Kind.Name == "ca_files":
				written = true
			case task.Kind.Name == "template":
				manifests++
				if !written {
					t.Errorf("%s: nothing writes the keys before the manifest of the API server", book)
				}
			}
		}
		if manifests == 0 {
			t.Errorf("%s writes no manifest of an API server", book)
		}
	}
}
