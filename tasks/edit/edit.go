// Package edit has the modules that change part of a text file: a line, a block
// between two markers, or the matches of a regular expression. The new text is a pure function
// of the old one; the file module puts it in place.
package edit

import (
	"context"
	"fmt"
	"regexp"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Options are the arguments for writing an edited file.
type Options struct {
	Create   bool          `yaml:"create" doc:"create a missing file; default false: a missing file is an error"`
	Mode     string        `yaml:"mode" rule:"mode" doc:"octal mode; default: that of the existing file, \"0644\" for a new one"`
	Owner    string        `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file, the agent's user for a new one"`
	Group    string        `yaml:"group" rule:"owner" doc:"group name or number; default as for owner"`
	Secret   bool          `yaml:"secret" doc:"hide the diff of the file in all output; default false"`
	Follow   bool          `yaml:"follow" doc:"write through a symbolic link at path instead of refusing it; default false"`
	Backup   bool          `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file names the copy. Default false"`
	Validate hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

// maxFile is the maximum size in bytes of a file that can be edited.
const maxFile = 32 << 20

// edited is a file with the result of an edit.
type edited struct {
	path    string
	options Options
	absent  bool // the edit removes text: a missing file needs no edit
	edit    func(text string) (string, error)
	raw     bool // the edit is about carriage returns itself
}

// file returns the module that writes the edited file; nil when there is no file and none
// is created.
func (e edited) file(sys engine.System) (*file.File, error) {
	before, there, err := e.read(sys)
	if err != nil || !there && !(e.options.Create && !e.absent) {
		return nil, err
	}
	after, err := e.change(before)
	if err != nil {
		return nil, err
	}
	if again, err := e.change(after); err != nil || again != after {
		return nil, fmt.Errorf("every run would change %s once more, since what is written is found again: make regexp tell the two apart", e.path)
	}
	o := e.options
	f := &file.File{
		Path: e.path, Mode: o.Mode, Owner: o.Owner, Group: o.Group, Secret: o.Secret,
		Follow: o.Follow, Backup: o.Backup, Validate: o.Validate,
	}
	if after != before || !there {
		f.Content, f.Empty = new(after), after == ""
	}
	return f, nil
}

func (e edited) read(sys engine.System) (text string, there bool, err error) {
	path, info, err := hostfile.Find(sys, e.path, e.options.Follow)
	if err != nil || info == nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxFile {
		return "", false, fmt.Errorf("%s has %d bytes: files of more than %d are not edited", path, info.Size(), maxFile)
	}
	content, err := hostfile.ReadFile(sys, path)
	return string(content), true, err
}

func (e edited) check(ctx context.Context, sys engine.System) (engine.Change, error) {
	f, err := e.file(sys)
	switch {
	case err != nil:
		return engine.Change{}, err
	case f != nil:
		return f.Check(ctx, sys)
	case e.absent:
		return engine.NoChange(nil), nil
	}
	// In a dry run an earlier step has not created it; otherwise Apply returns the error.
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: e.path, Action: "edit, once it exists"}), nil
}

func (e edited) apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	f, err := e.file(sys)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("%s does not exist: make it first, or say create: true", e.path)
	}
	return f.Apply(ctx, sys, change)
}

// compile reads a regular expression of an argument; nil when it is empty.
func compile(name, expression string) (*regexp.Regexp, error) {
	if expression == "" {
		return nil, nil
	}
	re, err := regexp.Compile("(?m)" + expression)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (the syntax is Go's, https://go.dev/s/re2syntax, which has no look-around)", name, err)
	}
	return re, nil
}

func validState(state string) error {
	if state != "" && state != "present" && state != "absent" {
		return fmt.Errorf("state is %q, want present or absent", state)
	}
	return nil
}
