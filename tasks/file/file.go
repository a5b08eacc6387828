// Package file has the modules that put files, directories and links on a host
// and take them away.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// File is a regular file with the given content, access and existence.
type File struct {
	Path     string   `yaml:"path" required:"true" doc:"absolute path on the host"`
	Content  string   `yaml:"content" doc:"the whole content; empty leaves an existing file's content alone (see empty)"`
	Blob     string   `yaml:"blob" doc:"hex SHA-256 of the content, fetched from the controller; instead of content"`
	Empty    bool     `yaml:"empty" doc:"the file must have no content; default false"`
	Mode     string   `yaml:"mode" doc:"octal mode; default: what the file has, \"0644\" for a new one"`
	Owner    string   `yaml:"owner" doc:"user name or number; default: what the file has, the agent's user for a new one"`
	Group    string   `yaml:"group" doc:"group name or number; default as for owner"`
	Secret   bool     `yaml:"secret" doc:"never show the content or a diff of it; default false"`
	State    string   `yaml:"state" doc:"present or absent; default present"`
	Follow   bool     `yaml:"follow" doc:"write through a symbolic link at path instead of refusing it; default false"`
	Validate []string `yaml:"validate" doc:"command that must succeed before the file gets its name; %s stands for the path of the new content"`
}

var (
	_ engine.Module = (*File)(nil)
	_ engine.Module = (*Directory)(nil)
	_ engine.Module = (*Link)(nil)
	_ engine.Module = (*Absent)(nil)
)

// found is what a look at the host says about the file.
type found struct {
	path    string      // where to write, links resolved
	info    fs.FileInfo // nil when there is no file
	rewrite bool        // the content differs
	access  []string    // differences of owner and mode
}

func (f *File) access() hostfile.Access {
	return hostfile.Access{Mode: f.Mode, Owner: f.Owner, Group: f.Group}
}

func (f *File) managed() bool { return f.Content != "" || f.Blob != "" || f.Empty }

func (f *File) valid() error {
	switch {
	case f.Path == "":
		return errors.New("path is missing")
	case f.Content != "" && f.Blob != "":
		return errors.New("content and blob exclude each other")
	case f.State != "" && f.State != "present" && f.State != "absent":
		return fmt.Errorf("state is %q, want present or absent", f.State)
	}
	return nil
}

func (f *File) look(sys engine.System) (found, error) {
	path, err := hostfile.Resolve(sys, f.Path, f.Follow)
	if err != nil {
		return found{}, err
	}
	info, err := os.Lstat(sys.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return found{path: path, rewrite: true}, nil
	}
	if err != nil {
		return found{}, err
	}
	if !info.Mode().IsRegular() {
		return found{}, fmt.Errorf("%s is not a regular file but %s: remove it first", path, describe(info))
	}
	out := found{path: path, info: info}
	if out.rewrite, err = f.differs(sys, path, info); err != nil {
		return found{}, err
	}
	out.access, err = f.access().Differences(sys, info)
	return out, err
}

func (f *File) differs(sys engine.System, path string, info fs.FileInfo) (bool, error) {
	switch {
	case !f.managed():
		return false, nil
	case f.Blob != "":
		have, err := hostfile.SHA256(sys, path)
		return have != f.Blob, err
	case info.Size() != int64(len(f.Content)):
		return true, nil
	}
	have, err := os.ReadFile(sys.Path(path))
	return string(have) != f.Content, err
}

// Check compares existence, content and access.
func (f *File) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := f.valid(); err != nil {
		return engine.Change{}, err
	}
	if f.State == "absent" {
		return checkAbsent(sys, []string{f.Path})
	}
	have, err := f.look(sys)
	if err != nil {
		return engine.Change{}, err
	}
	var actions []string
	switch {
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
		effect.Diff = diffWith(sys, have, f.Content)
	}
	return engine.Changed(effect), nil
}

func diffWith(sys engine.System, have found, content string) string {
	var before []byte
	if have.info != nil {
		before, _ = os.ReadFile(sys.Path(have.path)) // a diff is a courtesy: without the old content it shows the new
	}
	return hostfile.Diff(have.path, before, []byte(content))
}

func describe(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a directory"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file (" + info.Mode().Type().String() + ")"
}
