// Package inspect has the modules that read the host and change nothing.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Stat tells what is at a path.
type Stat struct {
	Path     string `yaml:"path" required:"true" doc:"absolute path on the host"`
	Follow   bool   `yaml:"follow" doc:"describe what a symbolic link points to; default false"`
	Checksum bool   `yaml:"checksum" doc:"add the SHA-256 of a regular file; default false"`
}

// Read reads whole files.
type Read struct {
	Paths     []string `yaml:"paths" required:"true" doc:"absolute paths on the host"`
	MissingOK bool     `yaml:"missing_ok" doc:"leave out files that do not exist instead of failing; default false"`
	MaxBytes  int64    `yaml:"max_bytes" doc:"largest file that is read, in bytes; default 1048576"`
}

var (
	_ engine.Module = (*Stat)(nil)
	_ engine.Module = (*Read)(nil)
)

// Looks is true.
func (*Stat) Looks() bool { return true }

// Check reads; the output has exists, and of what exists type (file, directory,
// link, other), size in bytes, mode, uid, gid, mtime in Unix seconds, target of
// a link, empty of a directory, and sha256 when asked for.
func (s *Stat) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(s.Path) {
		return engine.Change{}, fmt.Errorf("path %q is not absolute", s.Path)
	}
	path, err := s.Path, error(nil)
	if s.Follow {
		if path, err = hostfile.Resolve(sys, s.Path, true); err != nil {
			return engine.Change{}, err
		}
	}
	info, err := os.Lstat(sys.Path(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return engine.NoChange(engine.Output{"exists": false, "path": path}), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	out, err := s.describe(sys, path, info)
	return engine.NoChange(out), err
}

func (s *Stat) describe(sys engine.System, path string, info fs.FileInfo) (engine.Output, error) {
	raw := info.Sys().(*syscall.Stat_t)
	out := engine.Output{
		"exists": true, "path": path, "type": "other", "size": info.Size(), "mode": hostfile.FormatMode(info.Mode()),
		"uid": int(raw.Uid), "gid": int(raw.Gid), "mtime": float64(info.ModTime().UnixNano()) / 1e9,
	}
	var err error
	switch {
	case info.Mode().IsRegular():
		out["type"] = "file"
		if s.Checksum {
			out["sha256"], err = hostfile.SHA256(sys, path)
		}
	case info.IsDir():
		out["type"] = "directory"
		var entries []os.DirEntry
		entries, err = os.ReadDir(sys.Path(path))
		out["empty"] = len(entries) == 0
	case info.Mode()&fs.ModeSymlink != 0:
		out["type"] = "link"
		out["target"], err = os.Readlink(sys.Path(path))
	}
	return out, err
}

// Apply is never needed.
func (*Stat) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

const defaultMaxBytes = 1 << 20

// Looks is true.
func (*Read) Looks() bool { return true }

// Check reads; the output has the contents by path under "files", and the paths
// that do not exist under "missing".
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
	info, err := os.Stat(sys.Path(path))
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
	data, err := os.ReadFile(sys.Path(path))
	if err == nil && !utf8.Valid(data) {
		return "", fmt.Errorf("%s is not text", path)
	}
	return string(data), err
}

// Apply is never needed.
func (*Read) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
