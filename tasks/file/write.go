package file

import (
	"context"
	"fmt"
	"io"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Apply writes the file or sets its access.
func (f *File) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if f.State == "absent" {
		return nil, removeAll(sys, []string{f.Path})
	}
	have, err := f.look(sys)
	if err != nil {
		return nil, err
	}
	if err := sys.Keep(have.path); err != nil {
		return nil, err
	}
	if !have.rewrite {
		if err := f.access().Set(sys, sys.Path(have.path)); err != nil {
			return nil, fmt.Errorf("setting access of %s: %w", have.path, err)
		}
		return nil, nil
	}
	content, err := f.open(ctx, sys)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return nil, f.write(ctx, sys, have.path, content)
}

func (f *File) open(ctx context.Context, sys engine.System) (io.ReadCloser, error) {
	if f.Blob != "" {
		return sys.Blob(ctx, f.Blob)
	}
	return io.NopCloser(strings.NewReader(f.Content)), nil
}

func (f *File) write(ctx context.Context, sys engine.System, path string, content io.Reader) error {
	if len(f.Validate) == 0 {
		return hostfile.Write(sys, path, content, f.access())
	}
	t, err := hostfile.Create(sys.Path(path))
	if err != nil {
		return err
	}
	defer t.Discard()
	if _, err := io.Copy(t, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := t.Dress(sys, f.access()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := f.validate(ctx, sys, t.Name()); err != nil {
		return err
	}
	return t.Commit()
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
