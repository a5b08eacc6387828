// Package keeperactions has the module that reads what the keeper of a host did.
package keeperactions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"deployer/engine"
	"deployer/jsontypes"
	"deployer/keeper/actionlog"
	"deployer/tasks/hostfile"
)

// Read is the module `keeper_actions`. It changes nothing.
type Read struct {
	Number int `yaml:"number" range:"0..200" doc:"maximum number of actions, the newest; default 20"`
}

// stateDir is the state directory of a host, in which the keeper has its file.
const stateDir = "/var/lib/deployer"

const defaultNumber = 20

var _ engine.Module = (*Read)(nil)

// ReadOnly is true.
func (*Read) ReadOnly() bool { return true }

// Check reads the actions. The output has `keeper_actions`, a list of objects with time, action, object, why and
// result, the newest last; it is empty on a host without a keeper.
func (r *Read) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	var files []io.Reader
	for _, name := range []string{actionlog.FormerFile, actionlog.File} {
		f, err := hostfile.Open(sys, path.Join(stateDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return engine.Change{}, fmt.Errorf("reading the actions of the keeper: %w", err)
		}
		defer func() { _ = f.Close() }()
		files = append(files, f)
	}
	entries, err := actionlog.Last(cmp.Or(r.Number, defaultNumber), files...)
	if err != nil {
		return engine.Change{}, fmt.Errorf("reading the actions of the keeper: %w", err)
	}
	list, err := jsontypes.FromGo(append([]actionlog.Entry{}, entries...))
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"keeper_actions": list}), nil
}

// Apply is never needed.
func (*Read) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
