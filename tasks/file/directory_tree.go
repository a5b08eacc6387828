package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// DirectoryTree is a directory with directories and files below it. Other entries
// stay.
type DirectoryTree struct {
	Path     string        `yaml:"path" rule:"path" required:"true" doc:"absolute path of the directory on the host"`
	Entries  []TreeEntry   `yaml:"entries" doc:"entries below path; a directory comes before its entries"`
	From     string        `yaml:"from" rule:"path" doc:"absolute path of a directory on the host; everything below it is copied. Instead of entries"`
	Mode     string        `yaml:"mode" rule:"preserve" doc:"octal mode of files; default: that of the existing file, \"0644\" for a new one; preserve copies the mode of the source"`
	DirMode  string        `yaml:"directory_mode" rule:"mode" doc:"octal mode of directories; default: that of the existing directory, \"0755\" for a new one"`
	Owner    string        `yaml:"owner" rule:"owner" doc:"user name or number, the owner of all files and directories; default: existing ones keep their owner"`
	Group    string        `yaml:"group" rule:"owner" doc:"group name or number of all files and directories; default: existing ones keep their group"`
	Secret   bool          `yaml:"secret" doc:"hide contents and diffs in all output; default false"`
	Force    *bool         `yaml:"force" doc:"replace the content of files that exist; default true"`
	Follow   bool          `yaml:"follow" doc:"write through symbolic links below path, or of other users above it, instead of refusing them; default false"`
	Backup   bool          `yaml:"backup" doc:"copy each replaced file to PATH.RUN~. Default false"`
	Validate hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before each file is replaced; %s is the path of the new content"`
}

// TreeEntry is a directory or file of a tree.
type TreeEntry struct {
	Name    string `yaml:"name" rule:"below" required:"true" doc:"path relative to that of the tree"`
	Dir     bool   `yaml:"dir" doc:"the entry is a directory"`
	Content string `yaml:"content" rule:"text" doc:"the whole content of a file; empty for an empty file"`
	Blob    string `yaml:"blob" rule:"sha256" doc:"hex SHA-256 of the content, fetched from the controller; instead of content"`
	Mode    string `yaml:"mode" rule:"mode" doc:"octal mode; default the tree's"`
}

// Check looks at every directory and file.
func (t *DirectoryTree) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if t.From != "" && missing(sys, t.From) {
		// In a dry run an earlier step may create the source; otherwise Apply reports the error.
		return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: t.Path, Action: "copy all of " + t.From}), nil
	}
	parts, err := t.parts(sys)
	if err != nil {
		return engine.Change{}, err
	}
	var all engine.Change
	for _, part := range parts {
		change, err := part.Check(ctx, sys)
		if err != nil {
			return engine.Change{}, err
		}
		all.Needed = all.Needed || change.Needed
		all.Effects = append(all.Effects, change.Effects...)
	}
	return all, nil
}

// Apply creates or changes the entries that differ, in order.
func (t *DirectoryTree) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	parts, err := t.parts(sys)
	if err != nil {
		return nil, err
	}
	var backups []string
	for _, part := range parts {
		change, err := part.Check(ctx, sys)
		if err != nil {
			return nil, err
		}
		if !change.Needed {
			continue
		}
		out, err := part.Apply(ctx, sys, change)
		if err != nil {
			return nil, err
		}
		if name, ok := out["backup_file"].(string); ok {
			backups = append(backups, name)
		}
	}
	if backups == nil {
		return nil, nil
	}
	return engine.Output{"backup_files": backups}, nil
}

func missing(sys engine.System, path string) bool {
	_, err := hostfile.Lstat(sys, path)
	return errors.Is(err, fs.ErrNotExist)
}

// parts returns the tree as modules for one directory and one file each.
func (t *DirectoryTree) parts(sys engine.System) ([]engine.Module, error) {
	if !filepath.IsAbs(t.Path) {
		return nil, fmt.Errorf("path %q is not absolute", t.Path)
	}
	if t.From != "" && t.Entries != nil {
		return nil, errors.New("from and entries exclude each other")
	}
	parts := []engine.Module{t.directory(TreeEntry{})}
	if t.From != "" {
		return t.walk(sys, parts)
	}
	for _, e := range t.Entries {
		switch {
		case !fs.ValidPath(e.Name) || e.Name == ".":
			return nil, fmt.Errorf("%q leads out of the tree", e.Name)
		case e.Dir:
			parts = append(parts, t.directory(e))
		default:
			parts = append(parts, t.file(e, ""))
		}
	}
	return parts, nil
}

func (t *DirectoryTree) directory(e TreeEntry) *Directory {
	mode := t.DirMode
	if e.Mode != "" {
		mode = e.Mode
	}
	return &Directory{Path: path.Join(t.Path, e.Name), Mode: mode, Owner: t.Owner, Group: t.Group, Follow: t.Follow}
}

func (t *DirectoryTree) file(e TreeEntry, from string) *File {
	mode := t.Mode
	if e.Mode != "" {
		mode = e.Mode
	}
	return &File{
		Path: path.Join(t.Path, e.Name), Content: new(e.Content), Blob: e.Blob, From: from, Empty: e.Content == "" && e.Blob == "" && from == "",
		Mode: mode, Owner: t.Owner, Group: t.Group, Secret: t.Secret, Force: t.Force, Follow: t.Follow, Backup: t.Backup, Validate: t.Validate,
	}
}

// walk adds the entries below From.
func (t *DirectoryTree) walk(sys engine.System, parts []engine.Module) ([]engine.Module, error) {
	root := sys.Path(t.From)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, root+string(filepath.Separator)))
		info, err := hostfile.Stat(sys, path.Join(t.From, name)) // a link is copied as what it leads to
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			parts = append(parts, t.directory(TreeEntry{Name: name}))
		case info.Mode().IsRegular():
			parts = append(parts, t.file(TreeEntry{Name: name}, path.Join(t.From, name)))
		default:
			return fmt.Errorf("%s is %s: only directories and regular files are copied", path.Join(t.From, name), describe(info))
		}
		return nil
	})
	return parts, err
}
