package content

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Copy copies a file or directory of the role or of the host, or a given text, to the
// host.
type Copy struct {
	Src       string        `yaml:"src" rule:"line" doc:"name of the file or directory in the role's files directory; with a slash at the end, only the content of the directory is copied"`
	Content   string        `yaml:"content" rule:"text" doc:"the content itself; instead of src"`
	Dest      string        `yaml:"dest" rule:"path" required:"true" doc:"absolute path on the host; with a slash at its end a directory that src is put into"`
	RemoteSrc bool          `yaml:"remote_src" doc:"src is an absolute path on the host; a directory needs a slash at its end. Default false"`
	Mode      string        `yaml:"mode" rule:"preserve" doc:"octal mode; default: that of the existing file, \"0644\" for a new one; preserve copies the mode of src"`
	DirMode   string        `yaml:"directory_mode" rule:"mode" doc:"octal mode of directories that are copied; default: that of the existing directory, \"0755\" for a new one"`
	Owner     string        `yaml:"owner" rule:"owner" doc:"user name or number; default: that of the existing file"`
	Group     string        `yaml:"group" rule:"owner" doc:"group name or number; default: that of the existing file"`
	Secret    bool          `yaml:"secret" doc:"hide the content and its diff in all output; default false"`
	Follow    bool          `yaml:"follow" doc:"write through a symbolic link at dest; default false"`
	Force     *bool         `yaml:"force" doc:"replace the content of a file that exists; default true"`
	Backup    bool          `yaml:"backup" doc:"copy the replaced file to PATH.RUN~; the output field backup_file (backup_files for a directory) names the copy. Default false"`
	Validate  hostcmd.Words `yaml:"validate" rule:"text" doc:"command that must succeed before the file is replaced, as a text or a list; %s is the path of the new content"`
}

// Valid implements engine.Validator.
func (p *Copy) Valid() error {
	switch {
	case p.Src == "" && strings.HasSuffix(p.Dest, "/"):
		return fmt.Errorf("dest %s is a directory: give the path of the file for the content", p.Dest)
	case p.Src != "" && p.Content != "":
		return errors.New("src and content exclude each other")
	case p.Src != "" && p.RemoteSrc && !path.IsAbs(p.Src):
		return fmt.Errorf("with remote_src, src %q must be an absolute path on the host", p.Src)
	}
	return nil
}

// Prepare reads the file or directory.
func (p *Copy) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	if err := p.Valid(); err != nil {
		return "", nil, err
	}
	if p.Src == "" {
		return fileWith(c, []byte(p.Content), p.file(p.Dest))
	}
	if p.RemoteSrc {
		return p.onHost()
	}
	entries, err := c.Walk(strings.TrimSuffix(p.Src, "/"))
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", p.Src, err)
	}
	if len(entries) == 1 && entries[0].Name == "" {
		return p.one(ctx, c, entries[0])
	}
	return p.tree(ctx, c, entries)
}

// file returns the module for one file at dest, without content.
func (p *Copy) file(dest string) file.File {
	return file.File{
		Path: dest, Mode: p.Mode, Owner: p.Owner, Group: p.Group, Secret: p.Secret, Follow: p.Follow,
		Force: p.Force, Backup: p.Backup, Validate: p.Validate,
	}
}

// within returns the destination of a source: dest, or a path in it.
func (p *Copy) within() string {
	if strings.HasSuffix(p.Dest, "/") {
		return path.Join(p.Dest, path.Base(p.Src))
	}
	return p.Dest
}

func (p *Copy) onHost() (string, engine.Module, error) {
	if strings.HasSuffix(p.Src, "/") {
		t := p.base(path.Clean(p.Dest))
		t.From, t.Mode = path.Clean(p.Src), p.Mode
		return "directory_tree", t, nil
	}
	f := p.file(p.within())
	f.From = p.Src
	return "file", &f, nil
}

func (p *Copy) one(ctx context.Context, c engine.PrepareContext, e engine.FileEntry) (string, engine.Module, error) {
	f := p.file(p.within())
	if f.Mode == preserve {
		f.Mode = hostfile.FormatMode(e.Mode)
	}
	if e.Size > inlineLimit {
		blob, err := c.FileBlob(ctx, p.Src)
		if err != nil {
			return "", nil, fmt.Errorf("reading %s: %w", p.Src, err)
		}
		f.Blob = blob.Digest
		return "file", &f, nil
	}
	content, err := c.File(p.Src)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", p.Src, err)
	}
	return fileWith(c, content, f)
}
