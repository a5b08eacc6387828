package image

import (
	"context"
	"deployer/shellquote"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Store is the image store of a container engine.
type Store interface {
	HasImage(ctx context.Context, ref string) (bool, error)
	ImportImage(ctx context.Context, rootfs, ref string, cmd []string) error
}

// Ensure returns the reference of the host image, and builds it when the store lacks it:
// about half a minute, with Debian's packages from deb.debian.org. It builds in dir,
// which it empties before and after, so that a killed build leaves nothing for long; the
// caller holds a lock against a second builder. progress receives the lines of
// mmdebstrap. Additional packages make a separate image.
func Ensure(ctx context.Context, store Store, dir string, more []string, progress func(string)) (string, error) {
	ref, err := Tag(more...)
	if err != nil {
		return "", err
	}
	has, err := store.HasImage(ctx, ref)
	if err != nil || has {
		return ref, err
	}
	if err := build(ctx, store, ref, dir, more, progress); err != nil {
		return "", fmt.Errorf("building the host image %s: %w", ref, err)
	}
	return ref, nil
}

func build(ctx context.Context, store Store, ref, dir string, more []string, progress func(string)) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next build tries again
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	hook, err := unpack(dir)
	if err != nil {
		return err
	}
	rootfs := filepath.Join(dir, "rootfs.tar")
	args := append(arguments(more), "--customize-hook="+hook, suite, rootfs)
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = clean
	said := &lineWriter{each: progress}
	cmd.Stderr = said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", shellquote.Line(cmd.Args), err, said.last())
	}
	progress("importing the image into the container engine")
	return store.ImportImage(ctx, rootfs, ref, []string{"/usr/local/sbin/lab-init"})
}

// clean is the time for a stopped mmdebstrap to unmount and remove its working
// directory.
const clean = 20 * time.Second

// lineWriter forwards whole lines and keeps the last ones for an error.
type lineWriter struct {
	each func(string)
	rest string
	tail []string
}

// keep is the number of lines of a failed build in its error.
const keep = 15

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest += string(p)
	for {
		line, rest, ok := strings.Cut(w.rest, "\n")
		if !ok {
			return len(p), nil
		}
		w.rest = rest
		line = strings.TrimSpace(line[strings.LastIndex(line, "\r")+1:])
		if line == "" {
			continue
		}
		w.each(line)
		w.tail = append(w.tail[max(0, len(w.tail)-keep+1):], line)
	}
}

func (w *lineWriter) last() string { return strings.Join(w.tail, "\n") }
