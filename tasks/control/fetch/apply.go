package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/tasks/stat"
)

// reportEvery is the interval of progress reports for a large file.
const reportEvery = 2 * time.Second

// tries is the maximum number of attempts to read a file that changes meanwhile.
const tries = 3

// Apply reads the file in parts, one message each, and renames it when its digest is the
// one that the host reported.
func (f *Fetch) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	to, err := f.place(actx.Host())
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(to.dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(to.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(to.name), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of %s: %w", to, err)
	}
	for range tries {
		have, err := f.look(ctx, actx)
		if err != nil {
			return nil, err
		}
		if !have.exists {
			return nil, fmt.Errorf("%s does not exist on the host: create it first, or set missing_ok: true", f.Src)
		}
		if err := f.room(to, have.size); err != nil {
			return nil, err
		}
		done, err := f.copy(ctx, actx, root, to, have)
		if err != nil {
			return nil, err
		}
		if done {
			return engine.Output{"dest": to.String(), "missing": false, "sha256": have.sha256, "size": have.size}, nil
		}
		actx.Progress(f.Src + " changed while it was read; reading it again")
	}
	return nil, fmt.Errorf("%s changes all the time: copy it on the host first, and fetch the copy", f.Src)
}

// copy reads the file into a temporary file beside its place. done is false when the
// content differs from what the host reported.
func (f *Fetch) copy(ctx context.Context, actx engine.ActionContext, root *os.Root, to target, have remote) (done bool, err error) {
	temp := filepath.Join(filepath.Dir(to.name), fmt.Sprintf(".%s%s%d", filepath.Base(to.name), tempMark, os.Getpid()))
	if err := removeAbandoned(root, filepath.Dir(to.name)); err != nil {
		return false, fmt.Errorf("removing files of killed runs beside %s: %w", to, err)
	}
	if err := root.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) { // left by an earlier process with the same id
		return false, fmt.Errorf("writing %s: %w", to, err)
	}
	out, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, fmt.Errorf("writing %s: %w", to, err)
	}
	defer func() {
		_ = out.Close()
		_ = root.Remove(temp)
	}()
	if err := syscall.Flock(int(out.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, fmt.Errorf("locking the temporary file of %s: %w", to, err)
	}
	sum := sha256.New()
	if err := f.read(ctx, actx, have.size, io.MultiWriter(out, sum)); err != nil {
		return false, fmt.Errorf("reading %s of %s: %w", f.Src, actx.Host(), err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != have.sha256 {
		return false, nil
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return false, fmt.Errorf("writing %s: %w", to, err)
	}
	if err := root.Rename(temp, to.name); err != nil {
		return false, fmt.Errorf("writing %s: %w", to, err)
	}
	return true, nil
}

// read requests size bytes part by part. It ends early when the host has fewer, and
// fails when the host sends more than requested.
func (f *Fetch) read(ctx context.Context, actx engine.ActionContext, size int64, to io.Writer) error {
	said := time.Now()
	for offset := int64(0); offset < size; {
		want := min(size-offset, stat.PartSize)
		out, err := ask(ctx, actx, "read_part", &stat.Part{Path: f.Src, Follow: f.Follow, Offset: offset, Bytes: want})
		if err != nil {
			return err
		}
		text, _ := out["data"].(string)
		part, err := base64.StdEncoding.DecodeString(text)
		if err != nil || int64(len(part)) > want {
			return fmt.Errorf("the host sent %d characters that are not the %d requested bytes", len(text), want)
		}
		if len(part) == 0 {
			return nil
		}
		if _, err := to.Write(part); err != nil {
			return err
		}
		offset += int64(len(part))
		if time.Since(said) >= reportEvery {
			said = time.Now()
			actx.Progress(fmt.Sprintf("fetched %d of %d MB", offset/1e6, size/1e6))
		}
	}
	return nil
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
