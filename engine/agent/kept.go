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

// Kept is one line of what a host keeps of a run, so that it can be reverted:
// runs/RUN/kept.jsonl. A line says what a step found before it changed it, or,
// with Left, what the step left there. Contents of files are beside it, in
// runs/RUN/kept/.
type Kept struct {
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

// thing is what a line is about.
type thing struct{ kind, name string }

func (k Kept) thing() thing { return thing{k.Kind, k.Name} }

// keeper writes what one run keeps.
type keeper struct {
	dir string // of the run

	mu    sync.Mutex
	file  *os.File // nil until something is kept
	lines int
	seen  map[string]map[thing]bool // by step
	open  map[string][]Kept         // kept by a step, without a line of what it left
	lost  map[string][]Kept         // files that a step has replaced and not kept
}

// keeper returns what keeps for a run; it reads what an earlier agent has kept
// for the same one.
func (s *state) keeper(run string) (*keeper, error) {
	dir, err := s.runDir(run)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keepers[run]; k != nil {
		return k, nil
	}
	lines, err := readKept(dir)
	if err != nil {
		return nil, err
	}
	k := &keeper{dir: dir, seen: map[string]map[thing]bool{}, open: map[string][]Kept{}, lost: map[string][]Kept{}}
	for _, line := range lines {
		k.note(line)
	}
	s.keepers[run] = k
	return k, nil
}

// note takes a line in.
func (k *keeper) note(line Kept) {
	k.lines++
	if line.Left {
		k.open[line.Step] = without(k.open[line.Step], line.thing())
		return
	}
	if k.seen[line.Step] == nil {
		k.seen[line.Step] = map[thing]bool{}
	}
	k.seen[line.Step][line.thing()] = true
	switch {
	case line.Lost == "":
		k.open[line.Step] = append(k.open[line.Step], line)
	case line.Kind == kindFile:
		k.lost[line.Step] = append(k.lost[line.Step], line)
	}
}

func without(lines []Kept, t thing) []Kept {
	var out []Kept
	for _, l := range lines {
		if l.thing() != t {
			out = append(out, l)
		}
	}
	return out
}

// keeps adds a line that fill completes, unless the step has one for the same
// thing: a second try would keep what the first one left behind.
func (k *keeper) keeps(line Kept, fill func(*Kept) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.seen[line.Step][line.thing()] {
		return nil
	}
	if err := fill(&line); err != nil {
		return fmt.Errorf("keeping %s %s: %w", line.Kind, line.Name, err)
	}
	if err := k.write(line, true); err != nil {
		return fmt.Errorf("keeping %s %s: %w", line.Kind, line.Name, err)
	}
	k.note(line)
	return nil
}

// write appends a line. With it the keeping is complete, so what it refers to
// must be on the disk by then.
func (k *keeper) write(line Kept, sync bool) error {
	if k.file == nil {
		f, err := openLines(filepath.Join(k.dir, keptFile))
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

// pending are the things of a step of which nobody has noted yet what became.
func (k *keeper) pending(step string) []Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[step]
}

// unkept are the files that a step has replaced and not kept.
func (k *keeper) unkept(step string) []Kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost[step]
}

// left notes what became of something. It is not waited for until it is on the
// disk: without it a revert only cannot tell who changed the thing last.
func (k *keeper) left(line Kept) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	line.Left, line.Data = true, ""
	if err := k.write(line, false); err != nil {
		return fmt.Errorf("noting what became of %s %s: %w", line.Kind, line.Name, err)
	}
	k.note(line)
	return nil
}

func (k *keeper) close() {
	if k.file != nil {
		_ = k.file.Close()
	}
}

const keptFile = "kept.jsonl"

// readKept reads what a run has kept; none when it kept nothing. A line that was
// cut short is left out: what it was for was not changed. A format that is not known
// is an error.
func readKept(runDir string) ([]Kept, error) {
	f, err := os.Open(filepath.Join(runDir, keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the run has kept: %w", err)
	}
	defer func() { _ = f.Close() }()
	var out []Kept
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
		var k Kept
		if json.Unmarshal(lines.Bytes(), &k) == nil && k.Kind != "" {
			out = append(out, k)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading what the run has kept: %w", err)
	}
	return out, nil
}
