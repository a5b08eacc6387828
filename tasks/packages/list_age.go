package packages

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// listsReceipt is the receipt whose time is the last refresh of the lists of packages:
// of all sources, or of the named one.
func listsReceipt(source string) string { return receipt.Path("packages", "lists", source) }

// refreshLists refreshes the lists of packages when they are older than valid, or older than
// a file that defines sources.
func refreshLists(ctx context.Context, sys engine.System, m manager, valid time.Duration) error {
	info, err := os.Stat(sys.Path(listsReceipt("")))
	if err == nil && age(info) < valid && !sourcesNewer(sys, m, info.ModTime()) {
		return nil
	}
	return refresh(ctx, sys, m, "")
}

// age returns the age of a file; a time in the future, after a change of the clock,
// counts as very old.
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

// sourcesNewer reports whether a source file, or their directory after a removal, is
// newer.
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
