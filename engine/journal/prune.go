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

// How much is kept; see the comment of the package.
const (
	KeptRuns  = 200
	KeptFor   = 90 * 24 * time.Hour
	KeptBytes = 4 << 30
)

// aged is the log of a run as the keeping sees it.
type aged struct {
	path string
	time time.Time // of its last line
	size int64     // bytes
}

// excess picks the logs that are not kept. The newest is.
func excess(all []aged, now time.Time) []aged {
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

// prune removes the logs that are not kept. Those of runs that go on are never
// removed.
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
	for _, old := range excess(all, now) {
		if alive, err := locked(old.path); err != nil || alive {
			continue
		}
		if err := os.Remove(old.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
