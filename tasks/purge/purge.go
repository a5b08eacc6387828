// Package purge has the module that removes files which deployer wrote to a directory
// for objects that the inventory no longer contains.
package purge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/receipt"
	"deployer/tasks/unit"
)

// Purge removes the files of a directory that are not listed and whose first line, or first
// key in JSON, marks them as written by deployer. Other files stay.
type Purge struct {
	Path  string   `yaml:"path" rule:"path" required:"true" doc:"absolute path of the directory; a missing directory is no error"`
	Files string   `yaml:"files" rule:"below-glob" default:"*" doc:"pattern of files below path, such as *.yaml or */hosts.toml; a directory that becomes empty is removed. Default *"`
	Keep  []string `yaml:"keep" rule:"below" doc:"paths below path that stay"`
	Units bool     `yaml:"units" doc:"the files are systemd units; each is stopped and disabled first. Default false"`
	// Secret is true for a directory in which some files have credentials.
	Secret bool `yaml:"secret" doc:"files are credentials: their backups expire after 7 days, and deployer runs purge removes them. Default false"`
}

var _ engine.Module = (*Purge)(nil)

// New returns the arguments with their defaults.
func New() *Purge { return &Purge{Files: "*"} }

// found lists the files of the directory: paths of the host, sorted.
type found struct {
	ours   []string // to be removed
	others []string // not written by deployer
}

func (p *Purge) find(sys engine.System) (found, error) {
	var f found
	if !filepath.IsAbs(p.Path) {
		return f, fmt.Errorf("path %q is not absolute", p.Path)
	}
	if filepath.IsAbs(p.Files) || slices.Contains(strings.Split(p.Files, "/"), "..") {
		return f, fmt.Errorf("files: pattern %q leads out of path", p.Files)
	}
	names, err := fs.Glob(os.DirFS(sys.Path(p.Path)), p.Files)
	if err != nil {
		return f, fmt.Errorf("files: pattern %q: %w", p.Files, err)
	}
	for _, name := range names {
		if slices.Contains(p.Keep, name) {
			continue
		}
		path := filepath.Join(p.Path, name)
		info, err := os.Lstat(sys.Path(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, fmt.Errorf("reading %s: %w", path, err)
		}
		if info.IsDir() {
			continue
		}
		if info.Mode().IsRegular() && receipt.Signed(sys, path) {
			f.ours = append(f.ours, path)
		} else {
			f.others = append(f.others, path)
		}
	}
	return f, nil
}

// Check lists the files to remove. The output field others lists the files that stay
// because deployer has not written them.
func (p *Purge) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	f, err := p.find(sys)
	if err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{Needed: len(f.ours) > 0, Output: engine.Output{"removed": f.ours, "others": f.others}}
	for _, path := range f.ours {
		if p.Units {
			stop, err := stopped(path).Check(ctx, sys)
			if err != nil {
				return engine.Change{}, err
			}
			change.Effects = append(change.Effects, stop.Effects...)
		}
		change.Effects = append(change.Effects, engine.Effect{
			Kind: engine.EffectFile, Target: path, Action: "remove", Reason: "the inventory no longer asks for it", Secret: p.Secret,
		})
	}
	return change, nil
}

// Apply removes the files and keeps backups for a revert.
func (p *Purge) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	f, err := p.find(sys)
	if err != nil {
		return nil, err
	}
	for _, path := range f.ours {
		if err := p.remove(ctx, sys, path); err != nil {
			return nil, fmt.Errorf("removing %s: %w", path, err)
		}
	}
	if p.Units && len(f.ours) > 0 {
		if err := unit.Reload(ctx, sys); err != nil {
			return nil, err
		}
	}
	return change.Output, nil
}

func (p *Purge) remove(ctx context.Context, sys engine.System, path string) error {
	if p.Units {
		u := stopped(path)
		change, err := u.Check(ctx, sys)
		if err != nil {
			return err
		}
		if change.Needed {
			if _, err := u.Apply(ctx, sys, change); err != nil {
				return err
			}
		}
	}
	if err := sys.Backup(path); err != nil {
		return err
	}
	if err := os.Remove(sys.Path(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.removeEmpty(sys, filepath.Dir(path))
}

// removeEmpty removes an empty directory below Path.
func (p *Purge) removeEmpty(sys engine.System, dir string) error {
	if dir == filepath.Clean(p.Path) {
		return nil
	}
	left, err := os.ReadDir(sys.Path(dir))
	if err != nil || len(left) > 0 {
		return err
	}
	if err := sys.Backup(dir); err != nil {
		return err
	}
	return os.Remove(sys.Path(dir))
}

func stopped(path string) *unit.Unit {
	no := false
	return &unit.Unit{Name: filepath.Base(path), State: "stopped", Enabled: &no}
}
