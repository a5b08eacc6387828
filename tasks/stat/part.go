package stat

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Part reads a range of bytes of a file, of any content.
type Part struct {
	Path   string `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Offset int64  `yaml:"offset" range:"0.." doc:"offset of the range in bytes; default 0"`
	Bytes  int64  `yaml:"bytes" range:"0.." doc:"length of the range in bytes; at most and by default 2097152"`
	Follow bool   `yaml:"follow" doc:"follow symbolic links of other users; default false"`
}

// PartSize is the maximum size of a part in bytes.
const PartSize = 2 << 20

var _ engine.Module = (*Part)(nil)

// Check reads the part. The output has it in base64 under data; at the end of the file it is
// shorter than requested.
func (p *Part) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(p.Path) {
		return engine.Change{}, fmt.Errorf("path %q is not absolute", p.Path)
	}
	path, err := through(sys, p.Path, p.Follow)
	if err != nil {
		return engine.Change{}, err
	}
	want := cmp.Or(p.Bytes, PartSize)
	if p.Offset < 0 || want < 0 || want > PartSize {
		return engine.Change{}, fmt.Errorf("offset %d and %d bytes: want at most %d from 0 on", p.Offset, want, PartSize)
	}
	f, err := hostfile.Open(sys, path)
	if err != nil {
		return engine.Change{}, err
	}
	defer func() { _ = f.Close() }()
	part := make([]byte, want)
	n, err := f.ReadAt(part, p.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"data": base64.StdEncoding.EncodeToString(part[:n])}), nil
}

// ReadOnly implements engine.ReadOnlyTask.
func (*Part) ReadOnly() bool { return true }

// Apply is never needed.
func (*Part) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
