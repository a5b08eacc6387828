package hostfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// maxLinks bounds a chain of symbolic links, as the kernel does (40).
const maxLinks = 40

// Resolve returns the host's path to which a write to path goes. A symbolic link at
// path is followed if follow is set, else it is an error, so that nothing is written
// to an unnamed place. The same holds for links of other users on the way.
func Resolve(sys engine.System, path string, follow bool) (string, error) {
	path, _, err := Find(sys, path, follow)
	return path, err
}

// at describes the host's path, nil when it does not exist. For a link it also
// returns the target, as written and as a path of the host.
func at(sys engine.System, path string) (info fs.FileInfo, written, target string, err error) {
	n, err := hostpath.Open(root(sys), path)
	if isMissing(err) {
		return nil, "", "", nil
	}
	if err != nil {
		return nil, "", "", err
	}
	defer n.Close()
	if info, err = n.Stat(); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return info, "", "", err
	}
	if written, err = n.Readlink(); err != nil || filepath.IsAbs(written) {
		return info, written, written, err
	}
	return info, written, filepath.Join(filepath.Dir(n.Path), written), nil
}

// Find is Resolve that also describes the file, nil when it does not exist.
func Find(sys engine.System, path string, follow bool) (string, fs.FileInfo, error) {
	if !filepath.IsAbs(path) {
		return "", nil, fmt.Errorf("path %q is not absolute", path)
	}
	for range maxLinks {
		through, err := Through(sys, path, follow)
		if err != nil {
			return "", nil, err
		}
		info, written, target, err := at(sys, through)
		if err != nil || written == "" {
			return through, info, err
		}
		if !follow {
			return "", nil, fmt.Errorf("%s is a symbolic link to %s: name the target itself, or say follow: true", path, written)
		}
		path = target
	}
	return "", nil, fmt.Errorf("%s: more than %d symbolic links follow each other", path, maxLinks)
}

// SHA256 returns the hex SHA-256 of the file at the host's path.
func SHA256(sys engine.System, path string) (string, error) {
	f, err := Open(sys, path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return Digest(f)
}

// buffers are for reading files, so that a step does not allocate one for each file.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Digest returns the hex SHA-256 of the data in r.
func Digest(r io.Reader) (string, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	// The wrapper has Read only, because a file would copy itself with a buffer of its own.
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{r}, *buf); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

const (
	maxDiff   = 64 << 10  // bytes of a diff that are kept
	maxDiffed = 512 << 10 // bytes of each side beyond which no diff is made
)

// Diff returns a unified diff of two versions of a file, at most 64 KiB of it.
// It is empty for content that is not text and for very large files.
func Diff(path string, before, after []byte) string {
	if !isText(before) || !isText(after) || len(before) > maxDiffed || len(after) > maxDiffed {
		return ""
	}
	diff := unified(path, string(before), string(after))
	if len(diff) <= maxDiff {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
	return fmt.Sprintf("%s... %d more bytes of this diff are not shown\n", diff[:cut], len(diff)-cut)
}

// unified is udiff.Unified with a shortcut for new files, which are the most frequent ones on
// a new host.
func unified(path, before, after string) string {
	if before != "" || after == "" {
		return udiff.Unified(path, path, before, after)
	}
	lines := strings.Count(after, "\n")
	var out strings.Builder
	out.Grow(len(after) + 2*len(path) + lines + 64)
	if !strings.HasSuffix(after, "\n") {
		lines++
	}
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -0,0 +1", path, path)
	if lines > 1 {
		fmt.Fprintf(&out, ",%d", lines)
	}
	out.WriteString(" @@\n")
	for line := range strings.Lines(after) {
		out.WriteByte('+')
		out.WriteString(line)
	}
	if !strings.HasSuffix(after, "\n") {
		out.WriteString("\n\\ No newline at end of file\n")
	}
	return out.String()
}

// Readable returns the content of the host's path for a diff: empty for a missing
// file and for one too large to diff.
func Readable(sys engine.System, path string) []byte {
	f, err := Open(sys, path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxDiffed+1)) // one more, so that Diff sees that it is too large
	if err != nil {
		return nil
	}
	return content
}

func isText(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) }
