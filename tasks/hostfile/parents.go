package hostfile

import (
	"path/filepath"

	"deployer/engine"
)

// Parents makes the directories above the host's path, mode 0755, and has those
// that it makes go again when the run is reverted.
func Parents(sys engine.System, path string) error {
	dir := filepath.Dir(path)
	if _, err := Stat(sys, dir); !isMissing(err) {
		return err
	}
	if err := sys.Keep(path); err != nil {
		return err
	}
	made, err := MakeDir(sys, dir)
	if err != nil {
		return err
	}
	made.Close()
	return nil
}

// MissingDir is the directory of the host's path, when it is not there and no step
// before this one of a dry run may make it; else it is empty.
func MissingDir(sys engine.System, path string) string {
	dir := filepath.Dir(path)
	if _, err := Stat(sys, dir); !isMissing(err) {
		return ""
	}
	if f, ok := sys.(engine.Foresight); ok && f.WouldMake(dir) {
		return ""
	}
	return dir
}
