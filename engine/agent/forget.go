package agent

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
)

// removeBackups removes secrets from what a run has kept, or all that it has kept, and
// notes why, so that a revert can say it. It returns how many things can no longer
// be put back. Contents that no line refers to are removed as well: an agent that
// died in the middle leaves some.
func (s *state) removeBackups(run string, all bool, why string) (lost int, err error) {
	dir, err := s.runDir(run)
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
	if err := enc.Encode(formatLine{stateFormat}); err != nil {
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
	// The lines first: what they refer to must be there whenever the agent dies.
	if changed {
		if err := writePrivateFile(filepath.Join(dir, backupLogFile), text.Bytes()); err != nil {
			return 0, err
		}
	}
	return lost, removeUnused(filepath.Join(dir, "kept"), inUse)
}

// withoutSecrets is a line without its secrets or, with all, without anything that could
// be put back, and whether it can no longer be. What did not exist before the step
// is no secret.
func (k BackupRecord) withoutSecrets(all bool) (poorer BackupRecord, gone bool) {
	if k.Lost != "" {
		return k, false
	}
	poorer = k
	poorer.State = maps.Clone(k.State)
	maps.DeleteFunc(poorer.State, func(key, _ string) bool {
		// What a run has left tells later who changed the thing.
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

// size tells a line from one that has less in it.
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
