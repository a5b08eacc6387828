package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// currentFile is the present state of the file on the host.
type currentFile struct {
	of      *File       // module that read the state
	path    string      // path to write to, links resolved
	info    fs.FileInfo // nil when there is no file
	rewrite bool        // the content differs
	access  []string    // differences of owner and mode
}

func (f *File) current(sys engine.System) (currentFile, error) {
	path, info, err := hostfile.Find(sys, f.Path, f.Follow)
	if err != nil {
		return currentFile{}, err
	}
	want, err := f.access(sys)
	if err == nil {
		err = want.Valid()
	}
	if err != nil {
		return currentFile{}, err
	}
	if info == nil && f.accessOnly() && !mayCreate(sys, path) {
		return currentFile{}, fmt.Errorf("%s does not exist, and the task has no content for it; write state: present to create an empty file", path)
	}
	if info == nil {
		return currentFile{of: f, path: path, rewrite: true}, nil
	}
	if !info.Mode().IsRegular() && !(info.IsDir() && f.accessOnly() && f.State == "") {
		return currentFile{}, fmt.Errorf("%s is not a regular file but %s: remove it first", path, describe(info))
	}
	out := currentFile{of: f, path: path, info: info}
	if out.rewrite, err = f.differs(sys, path, info); err != nil {
		return currentFile{}, err
	}
	out.access, err = want.Differences(sys, info)
	return out, err
}

// mayCreate reports whether an earlier step of a dry run may create the file.
func mayCreate(sys engine.System, path string) bool {
	view, ok := sys.(engine.DryRunView)
	return ok && view.WouldCreate(path)
}

func (f *File) differs(sys engine.System, path string, info fs.FileInfo) (bool, error) {
	switch {
	case !f.managed() || f.Force != nil && !*f.Force:
		return false, nil
	case f.Blob != "":
		have, err := hostfile.SHA256(sys, path)
		return have != f.Blob, err
	case f.From != "":
		return differ(sys, f.From, path, info)
	case info.Size() != int64(len(f.text())):
		return true, nil
	}
	have, err := hostfile.ReadFile(sys, path)
	return string(have) != f.text(), err
}

// differ compares a file with its source. A missing source counts as different: an
// earlier step of a dry run has not created it.
func differ(sys engine.System, from, path string, info fs.FileInfo) (bool, error) {
	model, err := hostfile.Stat(sys, from)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if !model.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file but %s", from, describe(model))
	}
	if os.SameFile(model, info) || model.Size() != info.Size() {
		return model.Size() != info.Size(), nil
	}
	a, err := hostfile.Open(sys, from)
	if err != nil {
		return false, err
	}
	defer func() { _ = a.Close() }()
	b, err := hostfile.Open(sys, path)
	if err != nil {
		return false, err
	}
	defer func() { _ = b.Close() }()
	return unequal(a, b)
}

func unequal(a, b io.Reader) (bool, error) {
	left, right := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(a, left)
		m, err2 := io.ReadFull(b, right)
		if !bytes.Equal(left[:n], right[:m]) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		case errors.Is(err2, io.EOF) || errors.Is(err2, io.ErrUnexpectedEOF):
			return true, nil // shorter, though it had the same size a moment ago
		case err2 != nil:
			return false, err2
		}
	}
}

// diff returns the diff for people; a content that cannot be read counts as empty.
func (f *File) diff(sys engine.System, have currentFile) string {
	after := []byte(f.text())
	if f.From != "" {
		after = hostfile.Readable(sys, f.From)
	}
	var before []byte
	if have.info != nil {
		before = hostfile.Readable(sys, have.path)
	}
	return hostfile.Diff(have.path, before, after)
}
