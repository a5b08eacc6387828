package undo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Limits of the records that stay on a host. A run without backups takes a few kB; one
// that replaced programs may take hundreds of MB.
const (
	keptRuns              = 10      // runs that can be reverted
	keptRunsWithoutBackup = 20      // runs without backups
	keptBytes             = 2 << 30 // of backups; the newest run stays, whatever its size
)

// secretsKeptFor is the time for which backups of secret steps stay after the last step of
// their run: long enough to notice that a new certificate or password does not work,
// short for something that gives access.
const secretsKeptFor = 7 * 24 * time.Hour

// storedRun is a run with what decides whether its directory stays.
type storedRun struct {
	name  string
	used  time.Time // when it was begun or last read for a revert
	kept  bool
	bytes int64 // of its backups
}

// runsToRemove returns the names of the runs beyond the limits, oldest last.
func runsToRemove(runs []storedRun) []string {
	slices.SortFunc(runs, func(a, b storedRun) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(b.name, a.name)) })
	var out []string
	kept, bare, bytes := 0, 0, int64(0)
	for _, r := range runs {
		if !r.kept {
			if bare++; bare > keptRunsWithoutBackup {
				out = append(out, r.name)
			}
			continue
		}
		kept++
		bytes += r.bytes
		if kept > keptRuns || kept > 1 && bytes > keptBytes {
			out = append(out, r.name)
		}
	}
	return out
}

// gcRuns removes the directories of old runs and expired secrets. What cannot be
// removed now is tried again by the next run.
func (s *Store) gcRuns() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	runs := filepath.Join(s.dir.Path, "runs")
	entries, err := os.ReadDir(runs)
	if err != nil {
		return err
	}
	var all []storedRun
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		_, err = os.Lstat(filepath.Join(runs, e.Name(), backupLogFile))
		all = append(all, storedRun{name: e.Name(), used: info.ModTime(), kept: err == nil, bytes: bytesIn(filepath.Join(runs, e.Name(), "kept"))})
	}
	var errs []error
	for _, name := range runsToRemove(all) {
		errs = append(errs, os.RemoveAll(filepath.Join(runs, name)))
	}
	return errors.Join(append(errs, s.expireSecrets(time.Now()))...)
}

// expireSecrets removes the backups of secret steps that are older than
// secretsKeptFor.
func (s *Store) expireSecrets(now time.Time) error {
	var errs []error
	for _, run := range s.dir.Runs() {
		if last := s.dir.LastWrite(run); last.IsZero() || now.Sub(last) <= secretsKeptFor {
			continue
		}
		_, err := s.removeBackups(run, false, fmt.Sprintf("it was secret, and its backup expired after %d days", int(secretsKeptFor.Hours()/24)))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// bytesIn returns the total size of the regular files below a directory.
func bytesIn(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
