package content

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostfile"
)

// preserve is the mode that copies the mode of the source.
const preserve = "preserve"

// treeLimit is the maximum total size in bytes of the files inside a step; further files
// become blobs.
const treeLimit = 256 << 10

// base returns the module for a directory, without its entries.
func (p *Copy) base(dest string) *file.DirectoryTree {
	return &file.DirectoryTree{
		Path: dest, DirMode: p.DirMode, Owner: p.Owner, Group: p.Group, Secret: p.Secret, Follow: p.Follow,
		Force: p.Force, Backup: p.Backup, Validate: p.Validate,
	}
}

// tree copies a directory of the role: its content when src ends with a slash, otherwise
// the directory itself into dest.
func (p *Copy) tree(ctx context.Context, c engine.PrepareContext, entries []engine.FileEntry) (string, engine.Module, error) {
	dest := path.Clean(p.Dest)
	if !strings.HasSuffix(p.Src, "/") {
		dest = path.Join(dest, path.Base(p.Src))
	}
	t := p.base(dest)
	if p.Mode != preserve {
		t.Mode = p.Mode
	}
	room := int64(treeLimit)
	for _, e := range entries {
		entry, err := p.entry(ctx, c, e, &room)
		if err != nil {
			return "", nil, err
		}
		t.Entries = append(t.Entries, entry)
	}
	return "directory_tree", t, nil
}

func (p *Copy) entry(ctx context.Context, c engine.PrepareContext, e engine.FileEntry, room *int64) (file.TreeEntry, error) {
	entry := file.TreeEntry{Name: e.Name, Dir: e.Mode.IsDir()}
	if entry.Dir {
		return entry, nil
	}
	if p.Mode == preserve {
		entry.Mode = hostfile.FormatMode(e.Mode)
	}
	name := path.Join(p.Src, e.Name)
	if e.Size <= min(inlineLimit, *room) {
		content, err := c.File(name)
		if err != nil {
			return entry, fmt.Errorf("reading %s: %w", name, err)
		}
		if utf8.Valid(content) {
			*room -= e.Size
			entry.Content = string(content)
			return entry, nil
		}
	}
	blob, err := c.FileBlob(ctx, name)
	if err != nil {
		return entry, fmt.Errorf("reading %s: %w", name, err)
	}
	entry.Blob = blob.Digest
	return entry, nil
}
