package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// Backup copies the file at the host's path, with its access, to PATH.RUN~ and
// returns that path; empty when there is no file. Readers of drop-in directories
// (sudo, cron, systemd) ignore names that end in ~. An existing copy of the same run
// stays: a second attempt would copy the result of the first.
func Backup(sys engine.System, path string) (string, error) {
	to := path + "." + sys.RunID() + "~"
	if _, err := Lstat(sys, to); err == nil {
		return to, nil
	}
	n, err := hostpath.Open(root(sys), path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	defer n.Close()
	from, err := n.File()
	if err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	defer func() { _ = from.Close() }()
	if err := sys.Backup(to); err != nil {
		return "", err
	}
	t, err := Create(sys, to)
	if err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	defer t.Discard()
	if _, err := io.Copy(t, from); err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	if err := t.applyAttributesAs(sys, n, Access{}); err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	return to, t.Commit()
}
