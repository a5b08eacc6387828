package tasktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"

	"deployer/engine"
)

// ErrNoFile is the cause when a Controller has no such file or template.
var ErrNoFile = errors.New("no such file")

// Controller is a fake engine.PrepareContext. Templates and Files are by name, as in
// "dir/file"; Artifacts by "name version"; Web holds what can be downloaded, by
// URL.
type Controller struct {
	Templates, Files map[string]string
	Artifacts        map[string]engine.Blob
	Web              map[string]string
}

var _ engine.PrepareContext = (*Controller)(nil)

// Host is always "h1".
func (*Controller) Host() string { return "h1" }

// Vars are empty.
func (*Controller) Vars() map[string]any { return map[string]any{} }

// Render returns the template as it is.
func (c *Controller) Render(name string) ([]byte, error) { return pick(c.Templates, name) }

// File returns the file.
func (c *Controller) File(name string) ([]byte, error) { return pick(c.Files, name) }

func pick(from map[string]string, name string) ([]byte, error) {
	content, ok := from[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, ErrNoFile)
	}
	return []byte(content), nil
}

// Walk lists the files below a directory, each with the mode 0644, and 0755 when
// its name ends in .sh.
func (c *Controller) Walk(name string) ([]engine.FileEntry, error) {
	tree := fstest.MapFS{}
	for file, content := range c.Files {
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(file, ".sh") {
			mode = 0o755
		}
		tree[file] = &fstest.MapFile{Data: []byte(content), Mode: mode}
	}
	var out []engine.FileEntry
	err := fs.WalkDir(tree, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && p == name {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out = append(out, engine.FileEntry{Name: strings.TrimPrefix(strings.TrimPrefix(p, name), "/"), Mode: info.Mode(), Size: info.Size()})
		return nil
	})
	return out, err
}

// FileBlob returns the digest of the file.
func (c *Controller) FileBlob(_ context.Context, name string) (engine.Blob, error) {
	content, err := pick(c.Files, name)
	return engine.Blob{Digest: c.AddBlob(content), Size: int64(len(content))}, err
}

// Download looks in Web.
func (c *Controller) Download(_ context.Context, url, digest string) (engine.Blob, error) {
	content, err := pick(c.Web, url)
	if err == nil && c.AddBlob(content) != digest {
		err = fmt.Errorf("%s has another digest than %s", url, digest)
	}
	return engine.Blob{Digest: digest, Size: int64(len(content))}, err
}

// AddBlob returns the digest.
func (*Controller) AddBlob(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Artifact looks in Artifacts.
func (c *Controller) Artifact(_ context.Context, name, version string) (engine.Blob, error) {
	b, ok := c.Artifacts[name+" "+version]
	if !ok {
		return b, fmt.Errorf("the catalogue has no %s %s", name, version)
	}
	return b, nil
}
