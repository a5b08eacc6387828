// Package stat has the modules that read the host and change nothing.
package stat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"deployer/engine"
	"deployer/engine/hostpath"
	"deployer/tasks/hostfile"
)

// Stat describes a path.
type Stat struct {
	Path   string `yaml:"path" rule:"path" required:"true" doc:"absolute path on the host"`
	Follow bool   `yaml:"follow" doc:"describe the target of a symbolic link, and follow links of other users; default false"`
	// OnlyTrusted is for callers that read the file afterwards.
	OnlyTrusted bool `yaml:"only_trusted" doc:"with follow: a symbolic link of another user to a path that this user does not own is an error; default false"`
	Checksum    bool `yaml:"checksum" doc:"add the SHA-256 of a regular file; default false"`
}

// Read reads whole files.
type Read struct {
	Paths     []string `yaml:"paths" rule:"path" required:"true" doc:"absolute paths on the host"`
	MissingOK bool     `yaml:"missing_ok" doc:"leave out files that do not exist instead of failing; default false"`
	Follow    bool     `yaml:"follow" doc:"follow symbolic links of other users; default false"`
	MaxBytes  int64    `yaml:"max_bytes" range:"0.." doc:"maximum size of a file in bytes; default 1048576"`
}

var (
	_ engine.Module = (*Stat)(nil)
	_ engine.Module = (*Read)(nil)
)

// ReadOnly reports that the module only reads.
func (*Stat) ReadOnly() bool { return true }

// Check describes the path. The output has exists and, for an existing path, type (file,
// directory, link, other), size in bytes, mode, uid, gid, mtime in Unix seconds, target of a
// link, empty of a directory, and sha256 if requested.
func (s *Stat) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(s.Path) {
		return engine.Change{}, fmt.Errorf("path %q is not absolute", s.Path)
	}
	n, path, err := s.open(sys)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return engine.NoChange(engine.Output{"exists": false, "path": path}), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	defer n.Close()
	out, err := s.describe(n, path)
	return engine.NoChange(out), err
}

func (s *Stat) open(sys engine.System) (n *hostpath.Node, path string, err error) {
	root := sys.Path("/")
	switch {
	case s.Follow && s.OnlyTrusted:
		if n, err = hostpath.Follow(root, s.Path); err == nil {
			return n, n.Path, nil
		}
		return nil, s.Path, err
	case s.Follow:
		if path, err = hostfile.Resolve(sys, s.Path, true); err != nil {
			return nil, s.Path, err
		}
	default:
		path = s.Path
	}
	n, err = hostpath.Open(root, path)
	return n, path, err
}

func (s *Stat) describe(n *hostpath.Node, path string) (engine.Output, error) {
	info, err := n.Stat()
	if err != nil {
		return nil, err
	}
	raw := info.Sys().(*syscall.Stat_t)
	out := engine.Output{
		"exists": true, "path": path, "type": "other", "size": info.Size(), "mode": hostfile.FormatMode(info.Mode()),
		"uid": int(raw.Uid), "gid": int(raw.Gid), "mtime": float64(info.ModTime().UnixNano()) / 1e9,
	}
	switch {
	case info.Mode().IsRegular():
		out["type"] = "file"
		if s.Checksum {
			out["sha256"], err = checksum(n)
		}
	case info.IsDir():
		out["type"] = "directory"
		var entries []os.DirEntry
		entries, err = os.ReadDir(n.Real())
		out["empty"] = len(entries) == 0
	case info.Mode()&fs.ModeSymlink != 0:
		out["type"] = "link"
		out["target"], err = n.Readlink()
	}
	return out, err
}

func checksum(n *hostpath.Node) (string, error) {
	f, err := n.File()
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return hostfile.Digest(f)
}

// Apply is never needed.
func (*Stat) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

const defaultMaxBytes = 1 << 20

// ReadOnly reports that the module only reads.
func (*Read) ReadOnly() bool { return true }

// Check reads the files. The output has the contents by path under "files", and missing paths
// under "missing".
func (r *Read) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if len(r.Paths) == 0 {
		return engine.Change{}, errors.New("paths is empty")
	}
	files, missing := map[string]any{}, []string{}
	for _, path := range r.Paths {
		content, err := r.read(sys, path)
		if errors.Is(err, fs.ErrNotExist) && r.MissingOK {
			missing = append(missing, path)
			continue
		}
		if err != nil {
			return engine.Change{}, err
		}
		files[path] = content
	}
	return engine.NoChange(engine.Output{"files": files, "missing": missing}), nil
}

func (r *Read) read(sys engine.System, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is not absolute", path)
	}
	at, err := through(sys, path, r.Follow)
	if err != nil {
		return "", err
	}
	f, err := hostfile.Open(sys, at)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	limit := r.MaxBytes
	if limit == 0 {
		limit = defaultMaxBytes
	}
	if info.Size() > limit {
		return "", fmt.Errorf("%s has %d bytes, more than max_bytes %d", path, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // a growing file, and a file of /proc, have no valid size
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than max_bytes %d", path, limit)
	}
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not text", path)
	}
	return string(data), err
}

// through returns the path to read for a path whose links may all be followed.
func through(sys engine.System, path string, follow bool) (string, error) {
	if !follow {
		return path, nil
	}
	return hostfile.Resolve(sys, path, true)
}

// Apply is never needed.
func (*Read) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
