package roles_test

import (
	"deployer/engine/lang"
	"deployer/tasks/control/keyring"
	"maps"
	"testing"
)

// TestNewEncryptionKeyNeedsFlag checks that install creates no new encryption key for a
// cluster with data unless --new-encryption-key is set.
func TestNewEncryptionKeyNeedsFlag(t *testing.T) {
	s := newSite(t, "single")
	for _, asked := range []bool{false, true} {
		fixed := maps.Clone(s.found)
		if asked {
			fixed["new_encryption_key"] = true
		}
		loads := 0
		for _, task := range s.program.Tasks {
			if task.Kind.Name != "ca_load" {
				continue
			}
			loads++
			vars := lang.NewVars(s.vars.ForHost("solo"), fixed)
			if err := vars.PushScope(task.Scopes, task.Refs()); err != nil {
				t.Fatal(err)
			}
			args, err := task.BuildArgs(vars)
			if err != nil {
				t.Fatal(err)
			}
			if load := args.(*keyring.Load); load.NewEncryptionKey != asked || load.Etcd != "etcd_found" {
				t.Errorf("asked %v: %+v", asked, load)
			}
		}
		if loads != 1 {
			t.Errorf("%d tasks load the authorities, want 1", loads)
		}
	}
}
