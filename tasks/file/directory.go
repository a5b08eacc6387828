package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Directory manages directories and their access.
type Directory struct {
	Path   string   `yaml:"path" rule:"path" doc:"absolute path on the host"`
	Paths  []string `yaml:"paths" rule:"path" doc:"more paths with the same access"`
	Mode   string   `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing directory, \"0755\" for a new one. missing parents get the same access"`
	Owner  string   `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing directory"`
	Group  string   `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing directory"`
	Follow bool     `yaml:"follow" doc:"accept a symbolic link to a directory, or of another user above it; default false"`
}

func (d *Directory) all() ([]string, error) {
	paths := d.Paths
	if d.Path != "" {
		paths = append([]string{d.Path}, paths...)
	}
	if len(paths) == 0 {
		return nil, errors.New("path or paths is missing")
	}
	return paths, nil
}

// action describes what one path needs; empty for nothing.
func (d *Directory) action(sys engine.System, path string) (target, action string, err error) {
	target, info, err := hostfile.Find(sys, path, d.Follow)
	if err != nil {
		return "", "", err
	}
	access := hostfile.Access{Mode: d.Mode, Owner: d.Owner, Group: d.Group}
	if err := access.Valid(); err != nil {
		return "", "", err
	}
	if info == nil {
		return target, engine.CreateDirectory, nil
	}
	if !info.IsDir() {
		return "", "", fmt.Errorf("%s is not a directory but %s: remove it first", target, describeOther(info))
	}
	differences, err := access.Differences(sys, info)
	return target, strings.Join(differences, ", "), err
}

func describeOther(info fs.FileInfo) string {
	if info.Mode().IsRegular() {
		return "a regular file"
	}
	return describe(info)
}

// Check compares each path with its wanted access.
func (d *Directory) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	paths, err := d.all()
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	for _, path := range paths {
		target, action, err := d.action(sys, path)
		if err != nil {
			return engine.Change{}, err
		}
		if action != "" {
			change.Needed = true
			change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: target, Action: action})
		}
	}
	return change, nil
}

// Apply creates the directories and their missing parents, which get the same access: a
// directory that only its owner may enter is not in one of another owner.
func (d *Directory) Apply(_ context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	access := hostfile.Access{Mode: d.Mode, Owner: d.Owner, Group: d.Group}
	for _, effect := range change.Effects {
		if err := sys.Backup(effect.Target); err != nil {
			return nil, err
		}
		for _, path := range append(missingParents(sys, effect.Target), effect.Target) {
			if err := apply(sys, path, access); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// missingParents returns the directories above a path that do not exist, the uppermost first.
func missingParents(sys engine.System, path string) []string {
	var out []string
	for dir := filepath.Dir(path); missing(sys, dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// apply creates a directory unless it exists, and sets its access on the node that it has
// opened: the owner of the parent may replace the directory by a program meanwhile.
func apply(sys engine.System, path string, access hostfile.Access) error {
	above, err := hostfile.MakeDir(sys, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer above.Close()
	made, err := above.OpenOrMkdir(filepath.Base(path), 0o755)
	if err != nil {
		return err
	}
	defer made.Close()
	if err := access.Set(sys, made); err != nil {
		return fmt.Errorf("setting access of %s: %w", path, err)
	}
	return nil
}
