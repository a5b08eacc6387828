package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/engine/agent/statedir"
)

// removeBackups removes the backups of secrets from a run, or all of its backups,
// and records why, so that a revert can report the reason. removeBackups returns the number of
// resources that can no longer be restored. Contents that no record refers to, which
// an agent that died may have left, are removed too.
func (s *Store) removeBackups(run string, all bool, why string) (lost int, err error) {
	dir, err := s.dir.RunDir(run)
	if err != nil {
		return 0, err
	}
	lines, err := readBackupLog(dir)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	changed := false
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	if err := enc.Encode(statedir.FormatLine{Format: statedir.Format}); err != nil {
		return 0, err
	}
	inUse := map[string]bool{}
	for _, line := range lines {
		poorer, gone := line.withoutSecrets(all)
		if gone {
			poorer.Lost = why
			lost++
		}
		changed = changed || gone || poorer.size() != line.size()
		if poorer.Data != "" {
			inUse[poorer.Data] = true
		}
		if err := enc.Encode(poorer); err != nil {
			return 0, err
		}
	}
	// The log is written first: contents that it refers to must exist whenever the
	// agent dies.
	if changed {
		if err := statedir.WritePrivateFile(filepath.Join(dir, backupLogFile), text.Bytes()); err != nil {
			return 0, err
		}
	}
	return lost, removeUnused(filepath.Join(dir, "kept"), inUse)
}

// withoutSecrets returns the record without its secrets or, with all, without
// anything that a revert needs, and reports whether the resource can no longer be
// restored. The absence of a resource is no secret.
func (k BackupRecord) withoutSecrets(all bool) (poorer BackupRecord, gone bool) {
	if k.Lost != "" {
		return k, false
	}
	poorer = k
	poorer.State = maps.Clone(k.State)
	maps.DeleteFunc(poorer.State, func(key, _ string) bool {
		// A Left record shows later who changed the resource.
		return !k.Left && (all || k.Secret) || strings.HasPrefix(key, engine.SecretKey)
	})
	if k.File != nil && (all || k.Secret) {
		file := *k.File
		file.Digest = "" // a short secret can be guessed from it
		poorer.File, poorer.Data = &file, ""
	}
	switch {
	case k.Left:
		return poorer, false
	case k.File != nil:
		return poorer, all || k.Data != poorer.Data
	}
	return poorer, len(k.State) != len(poorer.State)
}

// size returns a number that shrinks whenever withoutSecrets removes something.
func (k BackupRecord) size() int {
	size := len(k.Data) + len(k.State)
	if k.File != nil {
		size += len(k.File.Digest)
	}
	return size
}

// removeUnused removes the files of a directory that are not in use.
func removeUnused(dir string, inUse map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !inUse[e.Name()] {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	d, err := os.Open(dir)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	defer func() { _ = d.Close() }()
	return errors.Join(append(errs, d.Sync())...)
}
