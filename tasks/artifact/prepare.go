package artifact

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
)

// Artifact installs a catalogued binary or members of a catalogued archive.
type Artifact struct {
	Name    string            `yaml:"name" rule:"line" required:"true" doc:"name in the catalogue"`
	Version string            `yaml:"version" rule:"version" required:"true" doc:"version in the catalogue"`
	Dest    string            `yaml:"dest" rule:"path" doc:"absolute path on the host, when the artifact is a single file"`
	Members map[string]string `yaml:"members" rule:"path" keys:"line" doc:"path in the archive -> absolute path on the host; a slash at the end of both means everything below. A path may omit the archive's top directory"`
	Mode    string            `yaml:"mode" rule:"mode" doc:"octal mode of installed files; default \"0755\""`
}

// Prepare finds the blob for the host's architecture.
func (a *Artifact) Prepare(ctx context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	if a.Name == "" || a.Version == "" {
		return "", nil, errors.New("name and version are wanted")
	}
	blob, err := c.Artifact(ctx, a.Name, a.Version)
	if err != nil {
		return "", nil, fmt.Errorf("finding artifact %s %s: %w", a.Name, a.Version, err)
	}
	m := &Install{Name: a.Name + " " + a.Version, Blob: blob.Digest, Dest: a.Dest, Members: a.Members, Mode: a.Mode}
	if blob.Expanded != "" && len(a.Members) > 0 {
		m.Blob, m.Published = blob.Expanded, blob.Digest
	}
	return "blob_install", m, nil
}
