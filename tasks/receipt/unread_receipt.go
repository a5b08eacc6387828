package receipt

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"deployer/engine"
)

// Unread returns a path that has changed since a process read it, or that a dry run would
// change before this step; empty for none. seen has the stamps of the files as the process
// read them; a file without a stamp is compared by its time with since, the start of the
// process, which is called when it is needed. Missing files do not count.
func Unread(sys engine.System, paths []string, seen map[string]Stamp, since func() (time.Time, error)) (string, error) {
	for _, path := range paths {
		if view, ok := sys.(engine.DryRunView); ok && view.WouldChange(path) {
			return path, nil
		}
		now, err := Take(sys, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading the state of %s: %w", path, err)
		}
		if old, ok := seen[path]; ok {
			if now != old {
				return path, nil
			}
			continue
		}
		start, err := since()
		if err != nil {
			return "", err
		}
		if time.Unix(0, now.MTime).After(start) {
			return path, nil
		}
	}
	return "", nil
}
