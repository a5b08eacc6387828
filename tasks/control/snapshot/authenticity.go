package snapshot

import (
	"context"
	"fmt"

	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// Stored is a snapshot as a store lists it, with its MAC file.
type Stored struct {
	Name  string `yaml:"name" rule:"filename" required:"true" doc:"name of the snapshot, without .db"`
	Bytes int64  `yaml:"bytes" range:"0.." required:"true" doc:"size of the file"`
	MAC   string `yaml:"mac" rule:"text" required:"true" doc:"content of the file with its MAC"`
}

// Doubt returns the reason why a snapshot of a list is not authentic; empty when the holder of the
// key has saved one of that name and size. The content is compared by a restore only.
func (s Stored) Doubt(key keyring.BackupKey) string {
	m, err := ParseMAC(s.MAC)
	if err == nil {
		err = m.Verify(key)
	}
	if err == nil && m.Name != s.Name {
		err = m.misnamed(s.Name)
	}
	if err == nil && m.Bytes != s.Bytes {
		err = fmt.Errorf("it has %d bytes, and was saved with %d", s.Bytes, m.Bytes)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Compare is the action `snapshot_macs`: it compares snapshots of a list with the key that the
// run's keyring has for backups. Compare changes nothing.
//
// Output: doubts, in the order of the snapshots; empty texts for those that are authentic.
type Compare struct {
	Snapshots []Stored `yaml:"snapshots" required:"true" doc:"snapshots with name, bytes and mac, the content of the file with their MAC"`
}

// ReadOnly is true.
func (*Compare) ReadOnly() bool { return true }

// Check compares.
func (c *Compare) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	key, err := keyOf(actx)
	if err != nil {
		return engine.Change{}, err
	}
	doubts := make([]any, len(c.Snapshots))
	for i, s := range c.Snapshots {
		doubts[i] = s.Doubt(key)
	}
	return engine.NoChange(engine.Output{"doubts": doubts}), nil
}

// Apply is never called.
func (*Compare) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
