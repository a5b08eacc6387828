package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Absent removes files, links and whole directories.
type Absent struct {
	Path  string   `yaml:"path" rule:"path" doc:"absolute path on the host"`
	Paths []string `yaml:"paths" rule:"path" doc:"more paths; a directory is removed with everything below it, unless something is mounted there"`
	// Regenerated is the argument for state that belongs to a service, not to the run.
	Regenerated bool `yaml:"regenerated" doc:"a service makes the files again when it starts: a revert does not restore their content, it removes the files that are there then. Stop the service before this task, and start it after it. Not for directories; default false"`
	Follow      bool `yaml:"follow" doc:"follow symbolic links of other users above a path; a link at the path itself is removed. Default false"`
	Secret      bool `yaml:"secret" doc:"the files are credentials: their backups expire after 7 days, and deployer runs purge removes them. Default false"`
}

func (a *Absent) all() []string {
	if a.Path == "" {
		return a.Paths
	}
	return append([]string{a.Path}, a.Paths...)
}

// refuse protects against a variable that rendered to nothing: "/" and its direct
// children are never removed. refuse also protects mounted file systems, whose data is
// rarely meant, and whose mount point could not be removed afterwards.
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

// Check lists the existing paths.
func (a *Absent) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	paths := a.all()
	if len(paths) == 0 {
		return engine.Change{}, errors.New("path or paths is missing")
	}
	var change engine.Change
	for _, path := range paths {
		path, err := hostfile.Through(sys, path, a.Follow)
		if err == nil {
			err = refuse(sys, path)
		}
		if err != nil {
			return engine.Change{}, err
		}
		info, err := hostfile.Lstat(sys, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return engine.Change{}, err
		}
		action := "remove"
		switch {
		case info.IsDir() && a.Regenerated:
			return engine.Change{}, fmt.Errorf("%s is a directory; regenerated is for files that a service makes again", path)
		case a.Regenerated:
			action = "remove; its service makes it again when it starts"
		case info.IsDir():
			_, tooMuch, err := listTree(sys, path)
			if err != nil {
				return engine.Change{}, err
			}
			if action = "remove with everything below"; tooMuch != "" {
				action += " (cannot be undone)"
			}
		}
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: path, Action: action, Secret: a.Secret})
	}
	return change, nil
}

// Apply removes the paths.
func (a *Absent) Apply(_ context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	for _, path := range a.all() {
		path, err := hostfile.Through(sys, path, a.Follow)
		if err == nil {
			err = refuse(sys, path)
		}
		if err == nil {
			err = remove(sys, path, a.Regenerated)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, nil
}

// remove backs up and removes a path. The directory of the path is held open from
// check to removal.
func remove(sys engine.System, path string, regenerated bool) error {
	dir, base, err := hostfile.Parent(sys, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(base)
	if err != nil {
		return err
	}
	if regenerated && !info.IsDir() {
		err = sys.BackupRegenerated(path)
	} else {
		err = backUpAll(sys, path, info)
	}
	if err != nil {
		return err
	}
	return dir.RemoveAll(base)
}
