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
	gone := runsToRemove(all)
	if err := s.keepLeft(gone); err != nil {
		errs = append(errs, err) // without it, only drift of these files is not seen
	}
	for _, name := range gone {
		errs = append(errs, os.RemoveAll(filepath.Join(runs, name)))
	}
	return errors.Join(append(errs, s.expireSecrets(time.Now()))...)
}

// ExpireSecrets removes the backups of secret steps that are older than secretsKeptFor. The caller
// holds the lock of the state directory.
func (s *Store) ExpireSecrets(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expireSecrets(now)
}

func (s *Store) expireSecrets(now time.Time) error {
	var errs []error
	for _, run := range s.dir.Runs() {
		if expires := s.expiryOf(run); expires.IsZero() || !expires.Before(now) {
			continue
		}
		_, err := s.removeBackups(run, false, fmt.Sprintf("it was secret, and its backup expired after %d days", int(secretsKeptFor.Hours()/24)))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// NextExpiry returns when the next backups of secret steps expire; the zero time when there are
// none. It changes nothing.
func (s *Store) NextExpiry() (next time.Time, err error) {
	var errs []error
	for _, run := range s.dir.Runs() {
		expires := s.expiryOf(run)
		if expires.IsZero() || !next.IsZero() && !expires.Before(next) {
			continue
		}
		has, err := s.hasSecrets(run)
		errs = append(errs, err)
		if has {
			next = expires
		}
	}
	return next, errors.Join(errs...)
}

// expiryOf returns when the secrets of a run expire; the zero time for a run without steps.
func (s *Store) expiryOf(run string) time.Time {
	last := s.dir.LastWrite(run)
	if last.IsZero() {
		return time.Time{}
	}
	return last.Add(secretsKeptFor)
}

// hasSecrets reports whether a run has backups of secret steps.
func (s *Store) hasSecrets(run string) (bool, error) {
	dir, err := s.dir.RunDir(run)
	if err != nil {
		return false, err
	}
	lines, err := readBackupLog(dir)
	return slices.ContainsFunc(lines, func(line BackupRecord) bool {
		poorer, _ := line.withoutSecrets(false)
		return poorer.size() != line.size()
	}), err
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
