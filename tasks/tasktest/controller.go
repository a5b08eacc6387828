package tasktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"deployer/engine"
)

// ErrNoFile is the cause when a Controller has no such file or template.
var ErrNoFile = errors.New("no such file")

// Controller is a fake engine.Controller. Templates and Files are by name;
// Artifacts by "name version".
type Controller struct {
	Templates, Files map[string]string
	Artifacts        map[string]engine.Blob
}

var _ engine.Controller = (*Controller)(nil)

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
