package undo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/protocol"
)

// BackupRecord is one line of the backup log of a run, runs/RUN/kept.jsonl: the
// state of a resource before a step changed it or, with Left, the state that the
// step left. The contents of files are in runs/RUN/kept/.
type BackupRecord struct {
	Step string `json:"step"`
	Kind string `json:"kind"` // kindFile, or a kind of the registry
	Name string `json:"name"`
	Left bool   `json:"left,omitempty"`
	// File describes the file; nil when there is none.
	File *File `json:"file,omitempty"`
	// State is the state of a kind other than kindFile; empty when the resource does
	// not exist.
	State engine.State `json:"state,omitempty"`
	// Data is the name of the file in kept/ with the content of a regular file.
	Data string `json:"data,omitempty"`
	// Regenerated is true for a file that the step removes and a service makes again. The
	// record has no content.
	Regenerated bool `json:"regenerated,omitempty"`
	Secret      bool `json:"secret,omitempty"` // its content must not be shown
	// Lost is the reason why the resource cannot be restored; the record has no state
	// then.
	Lost string `json:"lost,omitempty"`
}

// kindFile is the kind of files, directories and links, which the agent itself backs
// up and restores.
const kindFile = "file"

// kindLost is the kind of what no revert can restore.
const kindLost = "lost"

// resource identifies what a record describes.
type resource struct{ kind, name string }

func (k BackupRecord) resource() resource { return resource{k.Kind, k.Name} }

// backupWriter writes the backup log of one run. Its methods may be called
// concurrently.
type backupWriter struct {
	dir string // of the run

	mu                 sync.Mutex
	file               *os.File // nil until the first record
	lines              int
	seen               map[string]map[resource]bool // by step
	unfinishedByStep   map[string][]BackupRecord    // by step: records without a matching Left record
	irreversibleByStep map[string][]BackupRecord    // by step: files that were replaced without a backup
}

// index adds a record to the maps. k.mu is held, or k is not shared yet.
func (k *backupWriter) index(line BackupRecord) {
	k.lines++
	if line.Left {
		k.unfinishedByStep[line.Step] = slices.DeleteFunc(slices.Clone(k.unfinishedByStep[line.Step]), func(r BackupRecord) bool {
			return r.resource() == line.resource()
		})
		return
	}
	if k.seen[line.Step] == nil {
		k.seen[line.Step] = map[resource]bool{}
	}
	k.seen[line.Step][line.resource()] = true
	switch {
	case line.Lost == "":
		k.unfinishedByStep[line.Step] = append(k.unfinishedByStep[line.Step], line)
	case line.Kind == kindFile:
		k.irreversibleByStep[line.Step] = append(k.irreversibleByStep[line.Step], line)
	}
}

// add writes a record that fill completes, unless the step has one for the same
// resource: after a failed attempt the resource is no longer as the step found it.
func (k *backupWriter) add(line BackupRecord, fill func(*BackupRecord) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen[line.Step][line.resource()] {
		return nil
	}
	if err := fill(&line); err != nil {
		return fmt.Errorf("backing up %s %s: %w", line.Kind, line.Name, err)
	}
	if err := k.write(line, true); err != nil {
		return fmt.Errorf("backing up %s %s: %w", line.Kind, line.Name, err)
	}
	k.index(line)
	return nil
}

// write appends a record. The record completes a backup, so the content that it
// refers to is on the disk before. k.mu is held.
func (k *backupWriter) write(line BackupRecord, sync bool) error {
	if k.file == nil {
		f, err := statedir.OpenLines(filepath.Join(k.dir, backupLogFile))
		if err != nil {
			return err
		}
		k.file = f
	}
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err = k.file.Write(append(raw, '\n')); err == nil && sync {
		err = k.file.Sync()
	}
	return err
}

// unfinished returns the records of a step that have no matching Left record.
func (k *backupWriter) unfinished(step string) []BackupRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unfinishedByStep[step]
}

// replacedWithoutBackup returns the records of files that a step has replaced
// without a backup.
func (k *backupWriter) replacedWithoutBackup(step string) []BackupRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.irreversibleByStep[step]
}

// recordAfter writes the state in which a step left a resource. The record is not
// synced: without it, a revert only does not know which run changed the resource last.
func (k *backupWriter) recordAfter(line BackupRecord) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	line.Left, line.Data = true, ""
	if err := k.write(line, false); err != nil {
		return fmt.Errorf("recording the new state of %s %s: %w", line.Kind, line.Name, err)
	}
	k.index(line)
	return nil
}

func (k *backupWriter) close() {
	if k.file != nil {
		_ = k.file.Close()
	}
}

const backupLogFile = "kept.jsonl"

// readBackupLog returns the records of a run, none when the run has no log. A
// truncated line is skipped: the change that it was for was not made. A damaged line
// becomes a record of something lost. An unknown format is an error.
func readBackupLog(runDir string) ([]BackupRecord, error) {
	f, err := os.Open(filepath.Join(runDir, backupLogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the run's backup log: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []BackupRecord
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, protocol.MaxFrame)
	number := 0
	for first := true; lines.Scan(); first = false {
		number++
		if first {
			head, err := statedir.IsFormatLine(f.Name(), lines.Bytes())
			if err != nil {
				return nil, err
			}
			if head {
				continue
			}
		}
		if k, ok := decodeRecord(lines.Bytes(), number); ok {
			out = append(out, k)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the run's backup log: %w", err)
	}
	return out, nil
}

// decodeRecord decodes a line of the backup log; false when a crash has cut it short. The
// record of a damaged line has the number of the line.
func decodeRecord(line []byte, number int) (BackupRecord, bool) {
	var k BackupRecord
	if json.Unmarshal(line, &k) == nil && k.Kind != "" {
		return k, true
	}
	if statedir.IsCutShort(line) {
		return BackupRecord{}, false
	}
	return lostRecord(fmt.Sprintf("line %d of the backup log", number), "the line is damaged, so it is unknown which resource of the run it is about"), true
}

// lostRecord stands for the unreadable part of a damaged file; it belongs to no step.
func lostRecord(name, why string) BackupRecord {
	return BackupRecord{Kind: kindLost, Name: name, Lost: why}
}
