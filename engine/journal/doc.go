// Package journal keeps the log of a run on the controller: one file of JSON Lines a
// run, written from the event stream, so that a run that was killed can be
// distinguished from one that ended, and its progress is known.
//
// The first line is the [Header], every other line is an event. Outputs of steps are
// left out, as they may be secret. The file is only appended to, readable by its
// owner only, and synced to disk at most [SyncDelay] after a step has ended. A run holds a
// lock on its file while its process runs.
//
// The newest [KeptRuns] files are kept, none for longer than [KeptFor], and no more
// than fit into [KeptBytes]; the newest one always stays.
package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
)

// SyncDelay is the maximum time until the end of a step survives a power cut.
const SyncDelay = 100 * time.Millisecond

// writeDelay is the maximum time until the end of a successful step survives a kill
// of deployer, so that hundreds of lines share one write. All other lines are
// written at once, with the lines that wait.
const writeDelay = 10 * time.Millisecond

// Format is the number of the format of journals. Journals without a number are of
// format 0, which differs from 1 only by the missing number.
//
// A format that changes gets the next number, a reader for the one before, and a
// journal of it in testdata.
const Format = 1

// FormatError is the error for a journal of an unknown format.
type FormatError struct {
	Path   string
	Format int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s has format %d, and this version of deployer knows formats up to %d: a newer deployer has written it; use that version", e.Path, e.Format, Format)
}

// Header describes a run.
type Header struct {
	Format  int       `json:"format"`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	// Invocation is the command that started the run.
	Invocation Invocation `json:"call"`
	// Files are the files of the run at its start (the inventory, the playbook and the
	// files that it names), each with the hex SHA-256 of its content.
	Files    map[string]string `json:"files,omitempty"`
	Deployer string            `json:"deployer"` // version of the program
	Versions map[string]string `json:"versions,omitempty"`
	By       string            `json:"by"` // user@machine
	PID      int               `json:"pid,omitempty"`
	// Resumes is the run that this one continues, Plan the plan that it applies.
	Resumes string `json:"resumes,omitempty"`
	Plan    *Plan  `json:"plan,omitempty"`
}

// CompareNewest orders headers by their start, the newest first, and by their ids when they
// started at the same time.
func (h Header) CompareNewest(other Header) int {
	return cmp.Or(other.Started.Compare(h.Started), cmp.Compare(other.Run, h.Run))
}

// Plan identifies the file of a plan by the hex SHA-256 of its content.
type Plan struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// line is one line of the file.
type line struct {
	Header *Header       `json:"header,omitempty"`
	Event  *engine.Event `json:"event,omitempty"`
}

// Dir returns the directory of this user's runs: $XDG_STATE_HOME/deployer/runs, or
// ~/.local/state/deployer/runs.
func Dir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "deployer", "runs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("finding the directory of run logs: the user has no home directory; set XDG_STATE_HOME or HOME")
	}
	return filepath.Join(home, ".local", "state", "deployer", "runs"), nil
}

// Path returns the file of a run.
func Path(dir, run string) string { return filepath.Join(dir, run+suffix) }

const suffix = ".jsonl"
