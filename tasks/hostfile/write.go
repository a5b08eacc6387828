// Package hostfile writes files of a host atomically: a reader, or a host that loses
// power, sees the old content or the new one, and never a part.
package hostfile

import (
	"crypto/rand"
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
	"deployer/engine/hostpath"
)

// tempMark is part of the name of each temporary file. The names start with a dot
// and have no known suffix, so that the kubelet, systemd and other readers of
// drop-in directories ignore them.
const tempMark = ".deployer-"

// staleAfter is the age from which a temporary file is a leftover, even if a process
// with its writer's number runs. No write takes an hour.
const staleAfter = time.Hour

// Temp is a temporary file. It is written and renamed by descriptors, so that
// another user who may write to its directory cannot exchange it.
type Temp struct {
	*os.File
	sys   engine.System
	dir   *hostpath.Dir
	base  string // of the final name
	final string // the host's path
	temp  string // its present name in dir
	named bool   // it has its final name now
}

// Name returns a path of this machine by which programs can read the file.
func (t *Temp) Name() string { return filepath.Join(filepath.Dir(t.sys.Path(t.final)), t.temp) }

// Create creates a temporary file beside the host's path final, mode 0600.
func Create(sys engine.System, final string) (*Temp, error) {
	t, err := createTemp(sys, final)
	if err != nil {
		return nil, err
	}
	for range 100 {
		t.temp = TempName(t.base) + rand.Text()[:10]
		t.File, err = t.dir.OpenFile(t.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return t.opened(err)
}

// createTemp opens the directory for a temporary file and removes leftovers.
func createTemp(sys engine.System, final string) (*Temp, error) {
	dir, base, err := Parent(sys, final)
	if isMissing(err) {
		return nil, engine.MissingDirError(filepath.Dir(sys.Path(final)))
	}
	if err != nil {
		return nil, err
	}
	sweep(dir, "."+base+tempMark)
	return &Temp{sys: sys, dir: dir, base: base, final: filepath.Clean(final)}, nil
}

func (t *Temp) opened(err error) (*Temp, error) {
	if err != nil {
		t.dir.Close()
		return nil, err
	}
	return t, nil
}

// TempName returns the prefix of temporary names for base; the caller chooses the
// rest.
func TempName(base string) string { return fmt.Sprintf(".%s%s%d-", base, tempMark, os.Getpid()) }

// Sweep removes the temporary files that killed runs have left in the host's
// directory; some are as large as a program.
func Sweep(sys engine.System, path string) {
	dir, err := OpenDir(sys, path)
	if err != nil {
		return // the write that follows returns the error
	}
	defer dir.Close()
	sweep(dir, ".")
}

// sweep removes leftovers whose names have the prefix.
func sweep(dir *hostpath.Dir, prefix string) {
	names, err := dir.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		_, rest, ours := strings.Cut(name, tempMark)
		if !ours || !strings.HasPrefix(name, prefix) {
			continue
		}
		info, err := dir.Lstat(name)
		if err == nil && (time.Since(info.ModTime()) > staleAfter || !writerIsAlive(rest)) {
			_ = dir.Remove(name)
		}
	}
}

// writerIsAlive reports, by the suffix PID-RANDOM of a temporary file, whether its
// writer still runs.
func writerIsAlive(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(number)
	return err != nil || pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// Commit syncs the content and renames the file. The time of modification becomes
// that of the rename, because it is compared with the start of processes that read
// the file: one that started between write and rename has read the old file.
func (t *Temp) Commit() error {
	if err := t.Sync(); err != nil {
		return err
	}
	if err := hostpath.Touch(t.File, time.Now()); err != nil {
		return err
	}
	if err := t.File.Close(); err != nil {
		return err
	}
	if err := t.dir.Rename(t.temp, t.base); err != nil {
		return explainRename(t.final, err)
	}
	t.named = true
	return t.dir.Sync()
}

// Close closes the file and its directory. Close may be called more than once.
func (t *Temp) Close() error {
	t.dir.Close()
	return t.File.Close()
}

// explainRename explains the kernel's error for a rename.
func explainRename(final string, err error) error {
	switch {
	case errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s is a mount of its own and cannot be replaced: change the file that is mounted there", final)
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: the file or its directory may be immutable: look at it with lsattr", err)
	}
	return err
}

// Discard removes the temporary file and closes its descriptors. After Commit it
// only closes, so it can be deferred.
func (t *Temp) Discard() {
	if !t.named {
		_ = t.dir.Remove(t.temp)
	}
	_ = t.Close()
}

// ApplyAttributes sets the access of the final file: the wanted one, else that of
// the replaced file, else 0644 and the agent's user. Extended attributes, the
// SELinux label among them, are those of the replaced file.
func (t *Temp) ApplyAttributes(sys engine.System, want Access) error {
	old, err := t.dir.Open(t.base)
	if isMissing(err) {
		return t.applyAttributesAs(sys, nil, want)
	}
	if err != nil {
		return err
	}
	defer old.Close()
	return t.applyAttributesAs(sys, old, want)
}

// Set sets an access, whatever file is replaced.
func (t *Temp) Set(sys engine.System, access Access) error {
	return access.Set(sys, hostpath.NodeOf(t.File))
}

// applyAttributesAs is ApplyAttributes with another file as the model; nil for none.
// The mode is set last: a change of owner clears bits of it, and other users must
// not read the content before.
func (t *Temp) applyAttributesAs(sys engine.System, model *hostpath.Node, want Access) error {
	mode := fs.FileMode(0o644)
	if model != nil {
		old, err := model.Stat()
		if err != nil {
			return err
		}
		if old.Mode().IsRegular() {
			mode = old.Mode() & modeBits
			stat := old.Sys().(*syscall.Stat_t)
			if int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid() {
				if err := t.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
					return err
				}
			}
			if err := copyAttributes(model, t.File); err != nil {
				return err
			}
		}
	}
	if want.Mode == "" {
		want.Mode = FormatMode(mode)
	}
	return t.Set(sys, want)
}

// Write replaces the file at the host's path with content. Write does not follow a
// symbolic link at path but replaces it; callers that must not replace a link use Resolve first.
func Write(sys engine.System, path string, content io.Reader, want Access) error {
	t, err := Create(sys, path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer t.Discard()
	if _, err := io.Copy(t, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := t.ApplyAttributes(sys, want); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
