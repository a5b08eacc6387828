package agenttest

import (
	"context"
	"errors"
	"io"
	"os"

	"deployer/engine"
)

// Fetch reads a blob, all of it or only its beginning.
type Fetch struct {
	Digest string `json:"Blob"`
	Path   string
	Only   int64
}

// Check implements engine.Module.
func (f *Fetch) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Changed(), nil
}

// Apply implements engine.Module.
func (f *Fetch) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	blob, err := sys.Blob(ctx, f.Digest)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	if f.Only > 0 {
		n, err := io.CopyN(io.Discard, blob, f.Only)
		return engine.Output{"read": n}, err
	}
	if f.Path == "" {
		n, err := io.Copy(io.Discard, blob)
		return engine.Output{"read": n}, err
	}
	out, err := os.Create(sys.Path(f.Path))
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(out, blob)
	return engine.Output{"read": n}, errors.Join(err, out.Close())
}
