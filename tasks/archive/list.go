package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// errNothing is the cause when no file matches.
var errNothing = errors.New("there is nothing to pack")

// source is a file that goes into an archive.
type source struct {
	name string // in the archive
	open func() (*os.File, error)
	info fs.FileInfo
	link string
}

// list finds what goes into the archive, sorted by name, so that the same files
// make the same archive.
func (p *Pack) list(sys engine.System) ([]source, error) {
	tops, err := p.tops(sys)
	if err != nil {
		return nil, err
	}
	base := commonDir(tops)
	var out []source
	for _, top := range tops {
		root := sys.Path(top)
		err := filepath.WalkDir(root, func(real string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			onHost := top + strings.TrimPrefix(real, root)
			name := strings.TrimPrefix(strings.TrimPrefix(onHost, base), "/")
			switch {
			case excluded(p.Exclude, name) && d.IsDir():
				return fs.SkipDir
			case excluded(p.Exclude, name), p.isArchive(onHost), d.Type()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0:
				return nil
			}
			s := source{name: name, open: func() (*os.File, error) { return openSource(sys, onHost) }}
			if s.info, err = d.Info(); err == nil && d.Type()&fs.ModeSymlink != 0 {
				s.link, err = os.Readlink(real)
			}
			out = append(out, s)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b source) int { return strings.Compare(a.name, b.name) })
	out = slices.CompactFunc(out, func(a, b source) bool { return a.name == b.name }) // two globs may match one file
	return out, nil
}

// openSource opens a listed file, and fails for a link that has replaced the file since.
func openSource(sys engine.System, path string) (*os.File, error) {
	n, err := hostpath.Open(sys.Path("/"), path)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	return n.File()
}

// isArchive reports whether a file is the archive or its temporary file.
func (p *Pack) isArchive(onHost string) bool {
	return onHost == p.Dest || path.Dir(onHost) == path.Dir(p.Dest) && strings.HasPrefix(path.Base(onHost), "."+path.Base(p.Dest)+".deployer-")
}

// tops returns the host's paths that match paths and globs.
func (p *Pack) tops(sys engine.System) ([]string, error) {
	var out []string
	for _, pattern := range p.all() {
		real := sys.Path(pattern)
		found := []string{real}
		if _, err := os.Lstat(real); err != nil {
			if found, err = filepath.Glob(real); err != nil {
				return nil, fmt.Errorf("%s: %w", pattern, err)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: %s does not exist", errNothing, pattern)
		}
		root := strings.TrimSuffix(sys.Path("/"), "/")
		for _, f := range found {
			out = append(out, path.Clean("/"+strings.TrimPrefix(f, root)))
		}
	}
	return out, nil
}

// commonDir returns the deepest directory that contains all paths.
func commonDir(paths []string) string {
	common := path.Dir(paths[0])
	for _, p := range paths[1:] {
		for common != "/" && !strings.HasPrefix(p, common+"/") {
			common = path.Dir(common)
		}
	}
	return strings.TrimSuffix(common, "/")
}

// excluded reports whether a pattern matches a name, or the last part of the name alone.
func excluded(patterns []string, name string) bool {
	return len(patterns) > 0 && (matches(patterns, name) || matches(patterns, path.Base(name)))
}

// digest returns a hash of the list, without the contents of the files.
func (p *Pack) digest(list []source) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	_ = enc.Encode(p.format()) // a hash takes everything
	for _, s := range list {
		stat := s.info.Sys().(*syscall.Stat_t)
		size, when := s.info.Size(), s.info.ModTime().UnixNano()
		if s.info.IsDir() { // the entries of a directory are listed themselves, and the archive may be one
			size, when = 0, 0
		}
		_ = enc.Encode([]any{s.name, s.info.Mode(), stat.Uid, stat.Gid, size, when, s.link})
	}
	return hex.EncodeToString(h.Sum(nil))
}
