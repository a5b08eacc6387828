// Package hostfile writes files of a host so that a reader, or a machine that
// loses power, sees the old content or the new one and nothing in between.
package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
)

// tempMark is part of the name of each temporary file. Names start with a dot
// and end with no known suffix, so that the kubelet, systemd and other readers
// of drop-in directories pass them over.
const tempMark = ".deployer-"

// staleAfter is the age from which a temporary file is a leftover even when a
// process with its writer's number runs. No write takes an hour.
const staleAfter = time.Hour

// Temp is a file that has not got its name yet.
type Temp struct {
	*os.File
	final string
	named bool // it is final now
}

// Create makes a temporary file beside the real path final, mode 0600.
func Create(final string) (*Temp, error) {
	dir, base := filepath.Split(final)
	sweep(dir, "."+base+tempMark)
	f, err := os.CreateTemp(dir, TempName(base)+"*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engine.NoDirectory(filepath.Clean(dir))
	}
	if err != nil {
		return nil, err
	}
	return &Temp{File: f, final: final}, nil
}

// OpenPartial opens a file beside the real path final whose name is the same for
// the same key, so that what an earlier attempt has written can be gone on with.
// One that nobody has written to for an hour is removed with other leftovers.
func OpenPartial(final, key string) (*Temp, error) {
	dir, base := filepath.Split(final)
	sweep(dir, "."+base+tempMark)
	f, err := os.OpenFile(filepath.Join(dir, "."+base+tempMark+"part-"+key), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engine.NoDirectory(filepath.Clean(dir))
	}
	if err != nil {
		return nil, err
	}
	return &Temp{File: f, final: final}, nil
}

// TempName is how the name of a temporary file begins that will become base; what
// follows is the caller's choice.
func TempName(base string) string { return fmt.Sprintf(".%s%s%d-", base, tempMark, os.Getpid()) }

// Sweep removes what killed runs left of attempts at any file of the real
// directory. Some of it is as large as a program.
func Sweep(realDir string) { sweep(realDir, ".") }

// sweep removes leftovers whose names begin so.
func sweep(dir, prefix string) {
	names, err := namesIn(dir)
	if err != nil {
		return // the write that follows says what is wrong
	}
	for _, name := range names {
		_, rest, ours := strings.Cut(name, tempMark)
		if !ours || !strings.HasPrefix(name, prefix) {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && (time.Since(info.ModTime()) > staleAfter || !writerLives(rest)) {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
}

// namesIn are the names in a directory, in whatever order.
func namesIn(dir string) ([]string, error) {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	return d.Readdirnames(-1)
}

// writerLives tells from the end of a temporary file's name, PID-RANDOM, whether
// its writer still runs.
func writerLives(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	return err != nil || pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// Commit makes the content durable and gives the file its name. Its time of
// modification is that of the renaming, not of the writing, because it is
// compared with the start of the processes that read the file: one that started
// between the two has read the old file.
func (t *Temp) Commit() error {
	if err := t.Sync(); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	now := time.Now()
	if err := os.Chtimes(t.Name(), now, now); err != nil {
		return err
	}
	if err := os.Rename(t.Name(), t.final); err != nil {
		return whyNotNamed(t.final, err)
	}
	t.named = true
	return SyncDir(filepath.Dir(t.final))
}

// whyNotNamed says what the kernel means by refusing to put a file in place.
func whyNotNamed(final string, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s is a mount of its own and cannot be replaced: change the file that is mounted there", final)
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: the file or its directory may be immutable: look at it with lsattr", err)
	}
	return err
}

// Discard removes the temporary file. After Commit it does nothing, so that it
// can be deferred.
func (t *Temp) Discard() {
	if t.named {
		return
	}
	_ = t.Close()
	_ = os.Remove(t.Name())
}

// Dress gives the temporary file the access that the final file shall have:
// what is wanted, else what the file has that it replaces, else 0644 and the
// agent's own user. Extended attributes, the SELinux label among them, are those
// of the file that is replaced.
func (t *Temp) Dress(sys engine.System, want Access) error { return t.dressAs(sys, t.final, want) }

// dressAs is Dress by the model of another file, given by its real path. The
// mode comes last: a change of owner clears bits of it, and until then nobody
// else may read the content.
func (t *Temp) dressAs(sys engine.System, model string, want Access) error {
	mode := fs.FileMode(0o644)
	if old, err := os.Lstat(model); err == nil && old.Mode().IsRegular() {
		mode = old.Mode() & modeBits
		stat := old.Sys().(*syscall.Stat_t)
		if int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid() {
			if err := t.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
				return err
			}
		}
		if err := copyAttributes(model, t.Name()); err != nil {
			return err
		}
	}
	if want.Mode == "" {
		want.Mode = FormatMode(mode)
	}
	return want.Set(sys, t.Name())
}

// SyncDir makes the entries of a directory durable.
func SyncDir(realDir string) error {
	d, err := os.Open(realDir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}

// Write replaces the file at the host's path with content. It does not follow a
// symbolic link at path but replaces it; callers that mind use Resolve first.
func Write(sys engine.System, path string, content io.Reader, want Access) error {
	t, err := Create(sys.Path(path))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer t.Discard()
	if _, err := io.Copy(t, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := t.Dress(sys, want); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
