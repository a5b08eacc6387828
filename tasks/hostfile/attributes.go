package hostfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"deployer/engine/hostpath"
)

// ofContent are the extended attributes that depend on the content of a file. The kernel
// removes them from a file that is written to, and new content must not inherit
// them.
var ofContent = map[string]bool{"security.capability": true, "security.ima": true, "security.evm": true}

// copyAttributes copies the extended attributes of the replaced file to a new one:
// SELinux label, access lists, user attributes. Attributes that the file system or
// the user may not set are skipped, as by cp.
func copyAttributes(from *hostpath.Node, to *os.File) error {
	real := from.Real()
	list, err := attribute(func(buf []byte) (int, error) { return unix.Listxattr(real, buf) })
	if err != nil {
		return fmt.Errorf("listing the extended attributes of %s: %w", from.Path, err)
	}
	for name := range strings.SplitSeq(string(list), "\x00") {
		if name == "" || ofContent[name] {
			continue
		}
		value, err := attribute(func(buf []byte) (int, error) { return unix.Getxattr(real, name, buf) })
		if err != nil {
			return fmt.Errorf("reading %s of %s: %w", name, from.Path, err)
		}
		if err := unix.Fsetxattr(int(to.Fd()), name, value, 0); err != nil && !mayLack(err) {
			return fmt.Errorf("keeping %s: %w", name, err)
		}
	}
	return nil
}

// label is the extended attribute that holds the SELinux context.
const label = "security.selinux"

// CopyLabel copies the SELinux context of another file, for writers that keep no other
// attribute of the files that they replace.
func CopyLabel(from, to *os.File) error {
	value, err := attribute(func(buf []byte) (int, error) { return unix.Fgetxattr(int(from.Fd()), label, buf) })
	if err != nil {
		return fmt.Errorf("reading the SELinux context of %s: %w", from.Name(), err)
	}
	if len(value) == 0 {
		return nil
	}
	if err := unix.Fsetxattr(int(to.Fd()), label, value, 0); err != nil && !mayLack(err) {
		return fmt.Errorf("keeping the SELinux context of %s: %w", from.Name(), err)
	}
	return nil
}

// KeepLabel gives the temporary file the SELinux context of the file that it
// replaces, if there is one.
func (t *Temp) KeepLabel() error {
	info, err := t.dir.Lstat(t.base)
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // a new file gets the context of its directory
	}
	old, err := t.dir.OpenFile(t.base, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	return CopyLabel(old, t.File)
}

// attribute reads the size of an attribute, then its value, again when the value has grown in
// between; an attribute that was removed is empty.
func attribute(read func([]byte) (int, error)) ([]byte, error) {
	for {
		size, err := read(nil)
		if size == 0 || err != nil {
			return nil, unlessLacking(err)
		}
		buf := make([]byte, size)
		size, err = read(buf)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		if err != nil {
			return nil, unlessLacking(err)
		}
		return buf[:size], nil
	}
}

func unlessLacking(err error) error {
	if mayLack(err) {
		return nil
	}
	return err
}

func mayLack(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENODATA)
}
