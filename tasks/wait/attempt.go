package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// try evaluates the conditions once; the error describes the first one that is not met.
func (w *Condition) try(ctx context.Context, sys engine.System) error {
	switch w.State {
	case "stopped", "absent":
		return w.gone(ctx, sys)
	case "drained":
		return drained(sys, w.Host, w.Port)
	}
	return w.there(ctx, sys)
}

func (w *Condition) there(ctx context.Context, sys engine.System) error {
	if w.Path != "" {
		if found, err := w.found(sys); err != nil || !found {
			return cmp.Or(err, fmt.Errorf("%s does not match %q yet", w.Path, w.SearchRegex))
		}
	}
	if w.Socket != "" {
		if err := dial(ctx, "unix", sys.Path(w.Socket)); err != nil {
			return err
		}
	}
	if w.Port != 0 {
		if err := dial(ctx, "tcp", w.address()); err != nil {
			return err
		}
	}
	if w.HTTP != nil {
		if _, err := w.HTTP.Do(ctx, sys); err != nil {
			return err
		}
	}
	if len(w.Command) > 0 {
		_, err := hostcmd.Run(ctx, sys, w.Command...)
		return err
	}
	return nil
}

// gone requires that ports and sockets refuse connections. A timeout is not enough: the
// server may be slow.
func (w *Condition) gone(ctx context.Context, sys engine.System) error {
	if w.Path != "" {
		found, err := w.found(sys)
		if err == nil && found {
			return fmt.Errorf("%s still exists", cmp.Or(matching(w), w.Path))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if w.Socket != "" && dial(ctx, "unix", sys.Path(w.Socket)) == nil {
		return fmt.Errorf("%s still accepts connections", w.Socket)
	}
	if w.Port == 0 {
		return nil
	}
	err := dial(ctx, "tcp", w.address())
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("cannot determine whether %s is closed: %w", w.address(), err)
	}
	if err == nil {
		return fmt.Errorf("%s still accepts connections", w.address())
	}
	return nil
}

func matching(w *Condition) string {
	if w.SearchRegex == "" {
		return ""
	}
	return fmt.Sprintf("what matches %q in %s", w.SearchRegex, w.Path)
}

// maxSearched is the number of bytes, from the end of a file, that are searched. A log
// may be huge, and the awaited text is at its end.
const maxSearched = 8 << 20

// found reports whether the path exists and matches; the error describes why not.
func (w *Condition) found(sys engine.System) (bool, error) {
	info, err := w.stat(sys)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%s does not exist yet: %w", w.Path, err)
	}
	if err != nil {
		return false, err
	}
	if w.SearchRegex == "" {
		return true, nil
	}
	if !info.Mode().IsRegular() { // opening a pipe blocks until its other end is opened
		return false, fmt.Errorf("%s is not a regular file, so search_regex cannot be applied", w.Path)
	}
	f, err := w.open(sys)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	if info, err = f.Stat(); err != nil {
		return false, err
	}
	want, err := regexp.Compile(w.SearchRegex)
	if err != nil {
		return false, err
	}
	content := make([]byte, min(info.Size(), maxSearched))
	n, err := f.ReadAt(content, info.Size()-int64(len(content)))
	if n < len(content) {
		return false, fmt.Errorf("reading %s: %w", w.Path, err)
	}
	return want.Match(content), nil
}

func (w *Condition) stat(sys engine.System) (fs.FileInfo, error) {
	if w.Follow {
		return os.Stat(sys.Path(w.Path))
	}
	return hostfile.Stat(sys, w.Path)
}

// open opens the file without waiting for the other end of a pipe.
func (w *Condition) open(sys engine.System) (*os.File, error) {
	if w.Follow {
		return os.OpenFile(sys.Path(w.Path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	return hostfile.Open(sys, w.Path)
}

func (w *Condition) address() string {
	return net.JoinHostPort(cmp.Or(w.Host, "127.0.0.1"), strconv.Itoa(w.Port))
}

func dial(ctx context.Context, network, address string) error {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}
