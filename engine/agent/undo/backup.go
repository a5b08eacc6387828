package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"deployer/engine/agent/statedir"
	"deployer/engine/hostpath"
)

// backUp backs up the file at the record's path. Directories above the path that do
// not exist get records too: the step will create them.
func (k *backupWriter) backUp(line BackupRecord, root string) error {
	line.Kind, line.Name = kindFile, filepath.Clean("/"+line.Name)
	missing, err := missingAbove(root, line.Name)
	if err != nil {
		return fmt.Errorf("backing up file %s: %w", line.Name, err)
	}
	for _, dir := range missing {
		above := line
		above.Name = dir
		if err := k.add(above, func(*BackupRecord) error { return nil }); err != nil {
			return err
		}
	}
	return k.add(line, func(l *BackupRecord) error {
		n, err := hostpath.Open(root, l.Name)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer n.Close()
		if l.File, err = describe(n); err != nil {
			return err
		}
		switch {
		case l.File.Mode.IsRegular():
			if l.Lost = backupRefusal(k.dir, l.File.Size); l.Lost != "" {
				l.File = nil
				return nil
			}
			l.Data = fmt.Sprintf("%06d", k.lines)
			to := filepath.Join(k.dir, "kept", l.Data)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			return copyContent(n, to)
		case l.File.Mode&fs.ModeSymlink == 0 && !l.File.Mode.IsDir():
			l.File, l.Lost = nil, "it is a special file ("+l.File.Mode.Type().String()+")"
		}
		return nil
	})
}

// copyContent copies the content of a file to a path. A partial copy of an attempt
// that died is overwritten; a copy that fails is removed.
func copyContent(n *hostpath.Node, to string) error {
	in, err := n.File()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(statedir.RestrictToOwner(out), copySynced(out, in), out.Close())
	if err != nil {
		_ = os.Remove(to)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: free some space there; without a backup the file is not changed", err)
	}
	return err
}

// missingAbove lists the directories above path that do not exist, the topmost
// first.
func missingAbove(root, path string) ([]string, error) {
	var out []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		_, err := hostpath.Lstat(root, dir)
		if err == nil {
			break
		}
		if !isMissing(err) {
			return nil, err
		}
		out = append([]string{dir}, out...)
	}
	return out, nil
}
