package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Link is a symbolic link.
type Link struct {
	Path   string `yaml:"path" rule:"path" required:"true" doc:"absolute path of the link"`
	To     string `yaml:"to" rule:"line" required:"true" doc:"target of the link, absolute or relative; need not exist"`
	Force  bool   `yaml:"force" doc:"replace a regular file at path; default false"`
	Follow bool   `yaml:"follow" doc:"follow symbolic links of other users above path; default false"`
}

// Check reads the link.
func (l *Link) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(l.Path) || l.To == "" {
		return engine.Change{}, fmt.Errorf("want an absolute path and a target to, have %q and %q", l.Path, l.To)
	}
	path, err := hostfile.Through(sys, l.Path, l.Follow)
	if err != nil {
		return engine.Change{}, err
	}
	info, err := hostfile.Lstat(sys, path)
	effect := engine.Effect{Kind: engine.EffectFile, Target: path}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		effect.Action = "link to " + l.To
		change := engine.Changed(effect)
		change.MissingDir = hostfile.MissingDir(sys, path)
		return change, nil
	case err != nil:
		return engine.Change{}, err
	case info.Mode()&fs.ModeSymlink != 0:
		have, err := readlink(sys, path)
		if err != nil || have == l.To {
			return engine.Change{}, err
		}
		effect.Action = fmt.Sprintf("link to %s instead of %s", l.To, have)
		return engine.Changed(effect), nil
	case info.Mode().IsRegular() && l.Force:
		effect.Action = "replace the file by a link to " + l.To
		return engine.Changed(effect), nil
	}
	return engine.Change{}, fmt.Errorf("%s is %s, not a link: remove it first, or say force: true for a regular file", l.Path, describeOther(info))
}

// Apply creates the link under a temporary name and renames it.
func (l *Link) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	path, err := hostfile.Through(sys, l.Path, l.Follow)
	if err != nil {
		return nil, err
	}
	if err := sys.Backup(path); err != nil {
		return nil, err
	}
	dir, base, err := hostfile.Parent(sys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engine.MissingDirError(filepath.Dir(sys.Path(path)))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	temp := "." + base + ".deployer-link"
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := dir.Symlink(l.To, temp); err != nil {
		return nil, fmt.Errorf("linking %s: %w", l.Path, err)
	}
	if err := dir.Rename(temp, base); err != nil {
		return nil, fmt.Errorf("linking %s: %w", l.Path, err)
	}
	return nil, dir.Sync()
}

func readlink(sys engine.System, path string) (string, error) {
	dir, base, err := hostfile.Parent(sys, path)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	link, err := dir.Open(base)
	if err != nil {
		return "", err
	}
	defer link.Close()
	return link.Readlink()
}
