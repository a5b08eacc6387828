package statedir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/jsonappend"
	"deployer/engine/protocol"
)

// JournalFile is the name of the journal in the directory of a run.
const JournalFile = "journal.jsonl"

// Journal is the open journal of a run. A nil Journal, that of a dry run, drops
// entries.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	line []byte // memory for the next one
}

// Journal opens the journal of a run; the file stays open while the agent lives.
func (s *Dir) Journal(run string) (*Journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.journals[run]; j != nil {
		return j, nil
	}
	dir, err := s.makeRunDir(run)
	if err != nil {
		return nil, err
	}
	f, err := OpenLines(filepath.Join(dir, JournalFile))
	if err != nil {
		return nil, fmt.Errorf("opening the journal of the run on the host: %w", err)
	}
	j := &Journal{file: f}
	s.journals[run] = j
	return j, nil
}

// endLine ends a line that a power cut truncated.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.WriteString("\n")
	return err
}

// Begin records that a step is about to be applied, synced to the disk if sync is
// set. The step does not run when Begin fails: a host with a full disk stays as it
// is.
func (j *Journal) Begin(step string, sync bool) error {
	return j.write(engine.JournalEntry{Time: time.Now(), Step: step, Begun: true}, sync)
}

// End records how a step ended, synced to the disk if sync is set.
func (j *Journal) End(r engine.Result, sync bool) error {
	return j.write(engine.JournalEntry{Time: time.Now(), Step: r.Step, Status: r.Status, Tries: r.Tries, Elapsed: r.Elapsed}, sync)
}

func (j *Journal) write(e engine.JournalEntry, sync bool) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.line = appendEntry(j.line[:0], e)
	if _, err := j.file.Write(j.line); err != nil {
		return fmt.Errorf("writing the journal on the host: %w", err)
	}
	if sync {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("writing the journal on the host: %w", err)
		}
	}
	return nil
}

// appendEntry appends an entry as a line.
func appendEntry(out []byte, e engine.JournalEntry) []byte {
	out = jsonappend.AppendTime(append(out, `{"time":`...), e.Time)
	out = jsonappend.AppendString(append(out, `,"step":`...), e.Step)
	out = jsonappend.AppendTrue(out, "begun", e.Begun)
	out = jsonappend.AppendField(out, "status", string(e.Status))
	out = jsonappend.AppendNumber(out, "tries", e.Tries)
	out = jsonappend.AppendNumber(out, "elapsed", e.Elapsed)
	return append(out, "}\n"...)
}

func (j *Journal) close() { _ = j.file.Close() }

// ReadJournal returns the lines of a run's journal; none when the host has no such run. A
// truncated or damaged line is left out. An unknown format is an error.
func (s *Dir) ReadJournal(run string) ([]json.RawMessage, error) {
	entries, _, err := s.readJournal(run)
	return entries, err
}

// readJournal is ReadJournal that returns the number of damaged lines too.
func (s *Dir) readJournal(run string) (entries []json.RawMessage, damaged int, err error) {
	dir, err := s.RunDir(run)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(filepath.Join(dir, JournalFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the journal on the host: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, protocol.MaxFrame)
	for first := true; lines.Scan(); first = false {
		if first {
			head, err := IsFormatLine(f.Name(), lines.Bytes())
			if err != nil {
				return nil, 0, err
			}
			if head {
				continue
			}
		}
		switch {
		case json.Valid(lines.Bytes()):
			entries = append(entries, json.RawMessage(lines.Text()))
		case !IsCutShort(lines.Bytes()):
			damaged++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, 0, fmt.Errorf("reading the journal on the host: %w", err)
	}
	return entries, damaged, nil
}

// IsCutShort reports whether a line is the beginning of a JSON value, or zeros, which a power
// cut may leave: what the line was for has not been done. Other lines that are no JSON are
// damaged.
func IsCutShort(line []byte) bool {
	var value json.RawMessage
	err := json.NewDecoder(bytes.NewReader(bytes.TrimRight(line, "\x00"))).Decode(&value)
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
