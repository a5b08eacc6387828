// Package file has the modules that create and remove files, directories and links.
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
	"deployer/engine/hostpath"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// File is a regular file with its content, access and existence.
type File struct {
	Path     string        `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Content  *string       `yaml:"content" rule:"text" doc:"the whole content; an empty text keeps the content of an existing file (see empty)"`
	Blob     string        `yaml:"blob" rule:"sha256" doc:"hex SHA-256 of the content, fetched from the controller; instead of content"`
	From     string        `yaml:"from" rule:"path" doc:"absolute path of a file on the host to copy the content from; instead of content"`
	Empty    bool          `yaml:"empty" doc:"the file must have no content; default false"`
	Mode     string        `yaml:"mode" rule:"preserve" doc:"octal mode; default: that of the existing file, \"0644\" for a new one. With from, preserve takes the mode of that file"`
	Owner    string        `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file, the agent's user for a new one"`
	Group    string        `yaml:"group" rule:"owner" doc:"group name or number; default as for owner"`
	Secret   bool          `yaml:"secret" doc:"hide the content and its diff in all output; default false"`
	State    string        `yaml:"state" rule:"own" doc:"file (it must exist, and gets its access; also a directory), present (a missing one is created, empty) or absent; default: present with content, blob, from or empty, else file"`
	Force    *bool         `yaml:"force" doc:"replace the content of a file that exists; default true"`
	Follow   bool          `yaml:"follow" doc:"write through a symbolic link at path, or of another user above it, instead of refusing it; default false"`
	Backup   bool          `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file names the copy. Default false"`
	Validate hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

var (
	_ engine.Module = (*File)(nil)
	_ engine.Module = (*Directory)(nil)
	_ engine.Module = (*Link)(nil)
	_ engine.Module = (*Absent)(nil)
	_ engine.Module = (*DirectoryTree)(nil)
)

// preserve is the mode that copies the mode of the source.
const preserve = "preserve"

// access returns the wanted access of the file.
func (f *File) access(sys engine.System) (hostfile.Access, error) {
	access := hostfile.Access{Mode: f.Mode, Owner: f.Owner, Group: f.Group}
	if f.Mode != preserve {
		return access, nil
	}
	access.Mode = ""
	info, err := hostfile.Stat(sys, f.From)
	if errors.Is(err, fs.ErrNotExist) {
		return access, nil // an earlier step of a dry run has not made it
	}
	if err == nil {
		access.Mode = hostfile.FormatMode(info.Mode())
	}
	return access, err
}

func (f *File) managed() bool { return f.text() != "" || f.Blob != "" || f.From != "" || f.Empty }

// text returns the content that the task has written down.
func (f *File) text() string {
	if f.Content == nil {
		return ""
	}
	return *f.Content
}

// accessOnly reports whether the task says nothing of the content: then the file must exist,
// as an empty one may mean more than none (/etc/cron.allow).
func (f *File) accessOnly() bool {
	return !f.managed() && f.Content == nil && (f.State == "" || f.State == "file")
}

// Valid implements engine.Validator.
func (f *File) Valid() error {
	contents := 0
	for _, given := range []bool{f.text() != "", f.Blob != "", f.From != "", f.Empty} {
		if given {
			contents++
		}
	}
	switch {
	case f.Path == "":
		return errors.New("path is missing")
	case contents > 1:
		return errors.New("content, blob, from and empty exclude each other")
	case f.From != "" && !filepath.IsAbs(f.From):
		return fmt.Errorf("from: path %q is not absolute", f.From)
	case f.Mode == preserve && f.From == "":
		return errors.New("mode: preserve needs from")
	case f.State == "directory" || f.State == "link":
		return fmt.Errorf("state %s is a module of its own: write %s instead of file", f.State, f.State)
	case f.State == "touch":
		return fmt.Errorf("state is %q; write present, which creates a missing file and leaves the times of an existing one", f.State)
	case !slices.Contains([]string{"", "file", "present", "absent"}, f.State):
		return fmt.Errorf("state is %q, want file, present or absent", f.State)
	}
	return nil
}

// absent returns the module that does the work of the state absent.
func (f *File) absent() *Absent {
	return &Absent{Path: f.Path, Follow: f.Follow, Secret: f.Secret}
}

// Check compares existence, content and access.
func (f *File) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := f.Valid(); err != nil {
		return engine.Change{}, err
	}
	if f.State == "absent" {
		return f.absent().Check(ctx, sys)
	}
	have, err := f.current(sys)
	if err != nil {
		return engine.Change{}, err
	}
	var actions []string
	switch {
	case have.info == nil && f.accessOnly():
		actions = append(actions, "set access")
	case have.info == nil:
		actions = append(actions, "create")
	case have.rewrite:
		actions = append(actions, "replace")
	}
	actions = append(actions, have.access...)
	if len(actions) == 0 {
		return engine.NoChange(nil), nil
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: have.path, Action: strings.Join(actions, ", "), Secret: f.Secret}
	if have.rewrite && !f.Secret && f.Blob == "" {
		effect.Diff = f.diff(sys, have)
	}
	change := engine.Changed(effect)
	change.CheckState = have
	if have.info == nil {
		change.MissingDir = hostfile.MissingDir(sys, have.path)
	}
	return change, nil
}

func describe(info fs.FileInfo) string { return hostpath.Describe(info) }
