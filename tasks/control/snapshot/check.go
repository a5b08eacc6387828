package snapshot

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// Check is the action `snapshot_check`: it verifies a snapshot of etcd on the controller,
// and that the keys of the run's keyring belong to it. Check changes nothing.
//
// Output: revision, keys, bytes (size of the file), encrypted (number of encrypted values),
// pod_cidrs (ranges of Node objects by name).
type Check struct {
	File       string `yaml:"file" required:"true" doc:"path of the snapshot on the controller"`
	SHA256     string `yaml:"sha256" doc:"SHA-256 of the file in hex, which it must still have; default: any"`
	IgnoreKeys bool   `yaml:"ignore_keys" doc:"do not compare the keys with the snapshot; default false"`
}

// ReadOnly is true.
func (*Check) ReadOnly() bool { return true }

// Check reads the snapshot. Check fails when the file is not whole or not the wanted one, or when
// keys do not belong to it.
func (s *Check) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	verified, err := Verify(s.File)
	if err != nil {
		return engine.Change{}, err
	}
	if s.SHA256 != "" && s.SHA256 != verified.SHA256 {
		return engine.Change{}, fmt.Errorf("%s is another file than the one with which the restore began: its SHA-256 is %s, and was %s. "+
			"Members with different data are no cluster: put the former file back and continue with deployer resume, or begin another restore", s.File, verified.SHA256, s.SHA256)
	}
	var files keyring.Files
	if !s.IgnoreKeys {
		ring, err := keyring.Of(actx)
		if err != nil {
			return engine.Change{}, err
		}
		keys, err := ring.Keys()
		if err != nil {
			return engine.Change{}, err
		}
		files = keys.Files()
	}
	c, err := Read(s.File, files)
	if err != nil {
		return engine.Change{}, fmt.Errorf("%s: %w", s.File, err)
	}
	ranges := map[string]any{}
	for name, cidr := range c.PodCIDRs {
		ranges[name] = cidr
	}
	return engine.NoChange(engine.Output{"revision": c.Revision, "keys": c.Keys, "bytes": verified.Bytes, "encrypted": c.Encrypted, "pod_cidrs": ranges}), nil
}

// Apply is never called.
func (*Check) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
