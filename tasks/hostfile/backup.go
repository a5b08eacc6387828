package hostfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"deployer/engine"
)

// Backup copies the file at the host's path, with its access, to PATH.RUN~ and
// returns that path; empty when there is no file. Readers of drop-in directories
// (sudo, cron, systemd) pass names over that end in ~. The copy that a run has
// made stays: a second try would copy what the first one wrote.
func Backup(sys engine.System, path string) (string, error) {
	to := path + "." + sys.RunID() + "~"
	if _, err := os.Lstat(sys.Path(to)); err == nil {
		return to, nil
	}
	from, err := os.Open(sys.Path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	defer func() { _ = from.Close() }()
	if err := sys.Keep(to); err != nil {
		return "", err
	}
	t, err := Create(sys.Path(to))
	if err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	defer t.Discard()
	if _, err := io.Copy(t, from); err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	if err := t.dressAs(sys, sys.Path(path), Access{}); err != nil {
		return "", fmt.Errorf("backing up %s: %w", path, err)
	}
	return to, t.Commit()
}
