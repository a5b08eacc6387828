package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"deployer/engine"
	"deployer/engine/wire"
)

// BackupRecord is one line of what a host keeps of a run, so that it can be reverted:
// runs/RUN/kept.jsonl. A line says what a step found before it changed it, or,
// with Left, what the step left there. Contents of files are beside it, in
// runs/RUN/kept/.
type BackupRecord struct {
	Step string `json:"step"`
	Kind string `json:"kind"` // kindFile, or a kind of the registry
	Name string `json:"name"`
	Left bool   `json:"left,omitempty"`
	// File is what is at a path; nil when there is nothing.
	File *File `json:"file,omitempty"`
	// State is that of a kind other than kindFile; empty when it does not exist.
	State engine.State `json:"state,omitempty"`
	// Data is the file in kept/ with the content of a regular file.
	Data   string `json:"data,omitempty"`
	Secret bool   `json:"secret,omitempty"` // its content must not be shown
	// Lost says why it cannot be put back; nothing is known of it then.
	Lost string `json:"lost,omitempty"`
}

// kindFile is the kind of files, directories and links, which the agent itself
// keeps and puts back.
const kindFile = "file"

// resource is what a line is about.
type resource struct{ kind, name string }

func (k BackupRecord) resource() resource { return resource{k.Kind, k.Name} }

// backupWriter writes what one run keeps.
type backupWriter struct {
	dir string // of the run

	mu                 sync.Mutex
	file               *os.File // nil until something is kept
	lines              int
	seen               map[string]map[resource]bool // by step
	unfinishedByStep   map[string][]BackupRecord    // kept by a step, without a line of what it left
	irreversibleByStep map[string][]BackupRecord    // files that a step has replaced and not kept
}

// backupWriter returns what keeps for a run; it reads what an earlier agent has kept
// for the same one.
func (s *state) backupWriter(run string) (*backupWriter, error) {
	dir, err := s.runDir(run)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.backupWriters[run]; k != nil {
		return k, nil
	}
	lines, err := readBackupLog(dir)
	if err != nil {
		return nil, err
	}
	k := &backupWriter{dir: dir, seen: map[string]map[resource]bool{}, unfinishedByStep: map[string][]BackupRecord{}, irreversibleByStep: map[string][]BackupRecord{}}
	for _, line := range lines {
		k.index(line)
	}
	s.backupWriters[run] = k
	return k, nil
}

// index takes a line in.
func (k *backupWriter) index(line BackupRecord) {
	k.lines++
	if line.Left {
		k.unfinishedByStep[line.Step] = without(k.unfinishedByStep[line.Step], line.resource())
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

func without(lines []BackupRecord, t resource) []BackupRecord {
	var out []BackupRecord
	for _, l := range lines {
		if l.resource() != t {
			out = append(out, l)
		}
	}
	return out
}

// add adds a line that fill completes, unless the step has one for the same
// thing: a second try would keep what the first one left behind.
func (k *backupWriter) add(line BackupRecord, fill func(*BackupRecord) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen[line.Step][line.resource()] {
		return nil
	}
	if err := fill(&line); err != nil {
		return fmt.Errorf("keeping %s %s: %w", line.Kind, line.Name, err)
	}
	if err := k.write(line, true); err != nil {
		return fmt.Errorf("keeping %s %s: %w", line.Kind, line.Name, err)
	}
	k.index(line)
	return nil
}

// write appends a line. With it the keeping is complete, so what it refers to
// must be on the disk by then.
func (k *backupWriter) write(line BackupRecord, sync bool) error {
	if k.file == nil {
		f, err := openLines(filepath.Join(k.dir, backupLogFile))
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

// unfinished are the things of a step of which nobody has noted yet what became.
func (k *backupWriter) unfinished(step string) []BackupRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.unfinishedByStep[step]
}

// replacedWithoutBackup are the files that a step has replaced and not kept.
func (k *backupWriter) replacedWithoutBackup(step string) []BackupRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.irreversibleByStep[step]
}

// recordAfter notes what became of something. It is not waited for until it is on the
// disk: without it a revert only cannot tell who changed the thing last.
func (k *backupWriter) recordAfter(line BackupRecord) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	line.Left, line.Data = true, ""
	if err := k.write(line, false); err != nil {
		return fmt.Errorf("noting what became of %s %s: %w", line.Kind, line.Name, err)
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

// readBackupLog reads what a run has kept; none when it kept nothing. A line that was
// cut short is left out: what it was for was not changed. A format that is not known
// is an error.
func readBackupLog(runDir string) ([]BackupRecord, error) {
	f, err := os.Open(filepath.Join(runDir, backupLogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the run has kept: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []BackupRecord
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, wire.MaxFrame)
	for first := true; lines.Scan(); first = false {
		if first {
			head, err := isFormatLine(f.Name(), lines.Bytes())
			if err != nil {
				return nil, err
			}
			if head {
				continue
			}
		}
		var k BackupRecord
		if json.Unmarshal(lines.Bytes(), &k) == nil && k.Kind != "" {
			out = append(out, k)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading what the run has kept: %w", err)
	}
	return out, nil
}
