package snapshot

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// Check is the action `snapshot_check`: it verifies a snapshot of etcd on the controller,
// and that the keys of the run's keyring belong to it. Check changes nothing.
//
// Output: revision, keys, bytes (size of the file), encrypted (number of encrypted values),
// pod_cidrs (ranges of Node objects by name), saved (time of an authentic snapshot, or empty).
type Check struct {
	File       string `yaml:"file" rule:"line" required:"true" doc:"path of the snapshot on the controller"`
	SHA256     string `yaml:"sha256" rule:"sha256" doc:"SHA-256 of the file in hex, which it must still have; default: any"`
	IgnoreKeys bool   `yaml:"ignore_keys" doc:"do not compare the keys with the snapshot; default false"`
	Authentic  bool   `yaml:"authentic" doc:"refuse a snapshot without a valid MAC by the keys; default false"`
	MAC        string `yaml:"mac" rule:"text" doc:"content of the file with the snapshot's MAC; default: none"`
	Keys       string `yaml:"keys" rule:"sha256" doc:"SHA-256, in hex, of the file with the encrypted keys, which must have been saved with an authentic snapshot; default: keys from elsewhere"`
	Of         string `yaml:"of" rule:"in:etcd,etcd-events,etcd-calico" doc:"name of the etcd cluster that gets the data: etcd refuses a snapshot of events or of Calico, the two others any other; default: any"`
	Name       string `yaml:"name" rule:"word" doc:"name under which the snapshot must have been saved, without .db; default: any"`
}

// ReadOnly is true.
func (*Check) ReadOnly() bool { return true }

// Check reads the snapshot. Check fails when the file is not whole or not the wanted one, or when
// keys do not belong to it.
func (s *Check) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	f, err := Open(s.File)
	if err != nil {
		return engine.Change{}, err
	}
	defer f.Close()
	if s.SHA256 != "" && s.SHA256 != f.SHA256 {
		return engine.Change{}, fmt.Errorf("%s is another file than the one with which the restore began: its SHA-256 is %s, and was %s. "+
			"Members with different data are no cluster: put the former file back and continue with deployer resume, or begin another restore", s.File, f.SHA256, s.SHA256)
	}
	saved := ""
	if s.Authentic {
		m, err := s.authenticate(actx, f.Verified)
		if err != nil {
			return engine.Change{}, Unproven(s.File, err)
		}
		saved = m.Saved.Format(time.RFC3339)
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
	c, err := f.Read(files)
	if err != nil {
		return engine.Change{}, fmt.Errorf("%s: %w", s.File, err)
	}
	if err := c.Belongs(s.Of); err != nil {
		return engine.Change{}, fmt.Errorf("%s: %w", s.File, err)
	}
	ranges := map[string]any{}
	for name, cidr := range c.PodCIDRs {
		ranges[name] = cidr
	}
	return engine.NoChange(engine.Output{"revision": c.Revision, "keys": c.Keys, "bytes": f.Bytes, "encrypted": c.Encrypted, "pod_cidrs": ranges, "saved": saved}), nil
}

// authenticate returns the MAC of the snapshot, which it has verified with the keys of the run.
func (s *Check) authenticate(actx engine.ActionContext, v Verified) (MAC, error) {
	m, err := Claim(s.MAC, s.Name, v)
	if err != nil {
		return MAC{}, err
	}
	key, err := keyOf(actx)
	if err != nil {
		return MAC{}, err
	}
	if err := m.Verify(key); err != nil {
		return m, err
	}
	return m, m.RequireKeys(s.Keys)
}

// Apply is never called.
func (*Check) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
