package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Apply writes the file or sets its access.
func (f *File) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	if f.State == "absent" {
		return f.absent().Apply(ctx, sys, change)
	}
	have, ok := change.CheckState.(currentFile)
	if !ok || have.of != f { // the check belonged to another part of a composed module
		var err error
		if have, err = f.current(sys); err != nil {
			return nil, err
		}
	}
	if err := sys.Backup(have.path); err != nil {
		return nil, err
	}
	access, err := f.access(sys)
	if err != nil {
		return nil, err
	}
	if have.info != nil && have.info.IsDir() {
		return nil, apply(sys, have.path, access)
	}
	replace := have.rewrite
	if !replace {
		if replace, err = f.takesOver(sys, have.info, access); err != nil {
			return nil, err
		}
	}
	if !replace {
		if err := access.SetFile(sys, have.path, have.info); err != nil {
			return nil, fmt.Errorf("setting access of %s: %w", have.path, err)
		}
		return nil, nil
	}
	content, err := f.open(ctx, sys)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return f.write(ctx, sys, have.path, content)
}

// takesOver reports whether a file that has the wanted content is written anew to set its access:
// it belongs to a user who may hold it open and write to it later, and gets another owner or
// the setuid or setgid bit.
func (f *File) takesOver(sys engine.System, info fs.FileInfo, access hostfile.Access) (bool, error) {
	has := int(info.Sys().(*syscall.Stat_t).Uid)
	if !f.managed() || f.Force != nil && !*f.Force || has == 0 || has == os.Geteuid() {
		return false, nil
	}
	uid, _, err := access.IDs(sys)
	if err != nil {
		return false, err
	}
	mode := info.Mode()
	if access.Mode != "" {
		if mode, err = hostfile.ParseMode(access.Mode); err != nil {
			return false, err
		}
	}
	return uid >= 0 && uid != has || mode&(fs.ModeSetuid|fs.ModeSetgid) != 0, nil
}

func (f *File) open(ctx context.Context, sys engine.System) (io.ReadCloser, error) {
	switch {
	case f.Blob != "":
		return sys.Blob(ctx, f.Blob)
	case f.From != "":
		return openPlain(sys, f.From)
	}
	return io.NopCloser(strings.NewReader(f.text())), nil
}

func openPlain(sys engine.System, path string) (io.ReadCloser, error) {
	info, err := hostfile.Stat(sys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist on the host, and its content is wanted", path)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file but %s; of a directory, a slash at the end of src copies what is in it", path, describe(info))
	}
	return hostfile.Open(sys, path)
}

func (f *File) write(ctx context.Context, sys engine.System, path string, content io.Reader) (engine.Output, error) {
	t, err := hostfile.Create(sys, path)
	if err != nil {
		return nil, err
	}
	defer t.Discard()
	if _, err := io.Copy(t, content); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return f.Place(ctx, sys, path, t)
}

// Place sets the wanted access of a temporary file with the new content, validates it,
// copies the old file for backup: true, and renames the temporary file to path. Backup was
// called for path before.
func (f *File) Place(ctx context.Context, sys engine.System, path string, t *hostfile.Temp) (engine.Output, error) {
	access, err := f.access(sys)
	if err != nil {
		return nil, err
	}
	if err := t.ApplyAttributes(sys, access); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	if len(f.Validate) > 0 {
		if err := f.validate(ctx, sys, t.Name()); err != nil {
			return nil, err
		}
	}
	var out engine.Output
	if f.Backup {
		backup, err := hostfile.Backup(sys, path)
		if err != nil {
			return nil, err
		}
		if backup != "" {
			out = engine.Output{"backup_file": backup}
		}
	}
	if err := t.Commit(); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return out, nil
}

func (f *File) validate(ctx context.Context, sys engine.System, temp string) error {
	argv := make([]string, len(f.Validate))
	for i, word := range f.Validate {
		argv[i] = strings.ReplaceAll(word, "%s", temp)
	}
	_, err := hostcmd.Run(ctx, sys, argv...)
	if err == nil {
		return nil
	}
	if f.Secret {
		return fmt.Errorf("the new content of %s is not valid: %s refused it (its words are not shown because the file is secret)", f.Path, argv[0])
	}
	return fmt.Errorf("the new content of %s is not valid and was not put in place: %w", f.Path, err)
}
