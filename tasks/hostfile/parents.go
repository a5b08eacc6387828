package hostfile

import (
	"path/filepath"

	"deployer/engine"
)

// Parents creates the missing directories above the host's path, mode 0755, and
// records them, so that a revert removes them.
func Parents(sys engine.System, path string) error {
	dir := filepath.Dir(path)
	if _, err := Stat(sys, dir); !isMissing(err) {
		return err
	}
	if err := sys.Backup(path); err != nil {
		return err
	}
	made, err := MakeDir(sys, dir)
	if err != nil {
		return err
	}
	made.Close()
	return nil
}

// MissingDir returns the directory of the host's path if it does not exist and no
// earlier step of a dry run may create it; "" otherwise.
func MissingDir(sys engine.System, path string) string {
	dir := filepath.Dir(path)
	if _, err := Stat(sys, dir); !isMissing(err) {
		return ""
	}
	if f, ok := sys.(engine.DryRunView); ok && f.WouldCreate(dir) {
		return ""
	}
	return dir
}
