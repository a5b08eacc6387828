package packages

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// listsReceipt is written when the lists of packages were read: all of them, or
// those of the source that is named.
func listsReceipt(source string) string { return receipt.Path("packages", "lists", source) }

// freshen reads the lists of packages again when they are older than valid, or
// than a file that says where packages come from.
func freshen(ctx context.Context, sys engine.System, m manager, valid time.Duration) error {
	info, err := os.Stat(sys.Path(listsReceipt("")))
	if err == nil && age(info) < valid && !sourcesNewer(sys, m, info.ModTime()) {
		return nil
	}
	return refresh(ctx, sys, m, "")
}

// age is large for a file from the future: the clock was set.
func age(info os.FileInfo) time.Duration {
	if since := time.Since(info.ModTime()); since >= 0 {
		return since
	}
	return time.Duration(1<<63 - 1)
}

func refresh(ctx context.Context, sys engine.System, m manager, source string) error {
	sys.Progress("reading the lists of packages")
	if err := m.refresh(ctx, sys, source); err != nil {
		return err
	}
	return receipt.Write(sys, listsReceipt(source), map[string]string{"run": sys.RunID()})
}

// sourcesNewer looks at the files, and at their directory for what was removed.
func sourcesNewer(sys engine.System, m manager, than time.Time) bool {
	for _, path := range m.sources() {
		below, err := filepath.Glob(filepath.Join(sys.Path(path), "*"))
		if err != nil {
			return true
		}
		for _, p := range append(below, sys.Path(path)) {
			if info, err := os.Stat(p); err == nil && info.ModTime().After(than) {
				return true
			}
		}
	}
	return false
}
