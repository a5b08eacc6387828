package hostfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"deployer/engine"
)

// maxLinks bounds a chain of symbolic links, as the kernel does (40).
const maxLinks = 40

// Resolve returns the host's path that a write to path should go to. A symbolic
// link at path is followed when follow is true and is an error otherwise, so
// that nothing is written to a place nobody named.
func Resolve(sys engine.System, path string, follow bool) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is not absolute", path)
	}
	for range maxLinks {
		info, err := os.Lstat(sys.Path(path))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		target, err := os.Readlink(sys.Path(path))
		if err != nil {
			return "", err
		}
		if !follow {
			return "", fmt.Errorf("%s is a symbolic link to %s: name the target itself, or say follow: true", path, target)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: more than %d symbolic links follow each other", path, maxLinks)
}

// SHA256 returns the hex SHA-256 of the file at the host's path.
func SHA256(sys engine.System, path string) (string, error) {
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
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
	diff := udiff.Unified(path, path, string(before), string(after))
	if len(diff) <= maxDiff {
		return diff
	}
	cut := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
	return fmt.Sprintf("%s... %d more bytes of this diff are not shown\n", diff[:cut], len(diff)-cut)
}

// Readable returns the content of the file at the host's path as far as a diff
// can use it: nothing of a file that is not there, or larger than is diffed.
func Readable(sys engine.System, path string) []byte {
	f, err := os.Open(sys.Path(path))
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
