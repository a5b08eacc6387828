package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of the journals that are kept; see the package comment.
const (
	KeptRuns  = 200
	KeptFor   = 90 * 24 * time.Hour
	KeptBytes = 4 << 30
)

// aged is a journal with what decides whether it is kept.
type aged struct {
	path string
	time time.Time // of its last line
	size int64     // bytes
}

// runsToPrune returns the journals beyond the limits, never the newest.
func runsToPrune(all []aged, now time.Time) []aged {
	slices.SortFunc(all, func(a, b aged) int { return b.time.Compare(a.time) })
	var out []aged
	total := int64(0)
	for i, l := range all {
		total += l.size
		if i > 0 && (i >= KeptRuns || now.Sub(l.time) > KeptFor || total > KeptBytes) {
			out = append(out, l)
			total -= l.size
		}
	}
	return out
}

// prune removes the journals beyond the limits, but never that of a live run.
func prune(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var all []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), suffix) {
			all = append(all, aged{filepath.Join(dir, e.Name()), info.ModTime(), info.Size()})
		}
	}
	var errs []error
	for _, old := range runsToPrune(all, now) {
		if alive, err := locked(old.path); err != nil || alive {
			continue
		}
		if err := os.Remove(old.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
