package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Absent removes files, links and whole directories.
type Absent struct {
	Path  string   `yaml:"path" doc:"absolute path on the host"`
	Paths []string `yaml:"paths" doc:"more paths; a directory goes with everything below it, unless something is mounted there"`
}

// Check lists what is there.
func (a *Absent) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	return checkAbsent(sys, a.all())
}

// Apply removes it.
func (a *Absent) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	return nil, removeAll(sys, a.all())
}

func (a *Absent) all() []string {
	if a.Path == "" {
		return a.Paths
	}
	return append([]string{a.Path}, a.Paths...)
}

// refuse guards against a variable that rendered to nothing: "/" and its direct
// children are never removed; and against what is mounted: the data on it is
// seldom meant, and the mount point could not be removed after it.
func refuse(sys engine.System, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("path %q is not absolute", path)
	}
	if clean := filepath.Clean(path); strings.Count(clean, "/") < 2 {
		return fmt.Errorf("refusing to remove %s: it is the root or one of its direct children", clean)
	}
	mounts, err := hostfile.Mounts(sys, filepath.Clean(path))
	if err != nil || len(mounts) == 0 {
		return err
	}
	return fmt.Errorf("refusing to remove %s: something is mounted at %s, and all that is on it would be lost; unmount it first", path, strings.Join(mounts, ", "))
}

func checkAbsent(sys engine.System, paths []string) (engine.Change, error) {
	if len(paths) == 0 {
		return engine.Change{}, errors.New("path or paths is missing")
	}
	var change engine.Change
	for _, path := range paths {
		if err := refuse(sys, path); err != nil {
			return engine.Change{}, err
		}
		info, err := os.Lstat(sys.Path(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return engine.Change{}, err
		}
		action := "remove"
		if info.IsDir() {
			_, tooMuch, err := below(sys, path)
			if err != nil {
				return engine.Change{}, err
			}
			if action = "remove with everything below"; tooMuch != "" {
				action += " (cannot be undone)"
			}
		}
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: path, Action: action})
	}
	return change, nil
}

func removeAll(sys engine.System, paths []string) error {
	for _, path := range paths {
		if err := refuse(sys, path); err != nil {
			return err
		}
		info, err := os.Lstat(sys.Path(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := keepAll(sys, path, info); err != nil {
			return err
		}
		if err := os.RemoveAll(sys.Path(path)); err != nil {
			return err
		}
	}
	return nil
}
