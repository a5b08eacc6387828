// Package journal keeps the log of a run on the controller: one file of JSON
// Lines a run, written from the event stream as things happen, so that a run
// that was killed can be told from one that ended, and how far it came.
//
// The first line is the [Header], every other line is an event. Outputs of
// steps are left out: they are data, some of it secret. The file is appended to
// only, readable by its owner only, and on the disk at most [SyncDelay] after a
// step ended. While the run lives it holds a lock on the file.
//
// The newest [KeptRuns] are kept, none longer than [KeptFor], and no more than
// fit into [KeptBytes]; the newest one always is.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
)

// SyncDelay is the longest time that a step's end may be lost after a power
// cut.
const SyncDelay = 100 * time.Millisecond

// writeDelay is the longest time that the end of a step that went well may be
// lost when deployer is killed. Hundreds of lines are written at once for it. All
// else is written as it happens, with what came before.
const writeDelay = 10 * time.Millisecond

// Format is the number of the form in which journals are written. Those without a
// number are of format 0, which differs from 1 only by that.
//
// A form that changes gets the next number, a reader for the one before, and a
// journal of it in testdata.
const Format = 1

// FormatError says that a journal is of a format that is not known.
type FormatError struct {
	Path   string
	Format int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s has the format %d and this version of deployer knows %d: a newer one has written it; use that one", e.Path, e.Format, Format)
}

// Header says what a run is.
type Header struct {
	Format  int       `json:"format"`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	// Invocation is what was asked for.
	Invocation Invocation `json:"call"`
	// Files are the files that the run began with: the inventory, the playbook
	// and what that names, each with the hex SHA-256 of its content.
	Files    map[string]string `json:"files,omitempty"`
	Deployer string            `json:"deployer"` // version of the program
	Versions map[string]string `json:"versions,omitempty"`
	By       string            `json:"by"` // user@machine
	PID      int               `json:"pid,omitempty"`
	// Resumes is the run that this one goes on from, Plan the plan that it
	// applies.
	Resumes string `json:"resumes,omitempty"`
	Plan    *Plan  `json:"plan,omitempty"`
}

// Plan is the file of a plan, and the hex SHA-256 of its content.
type Plan struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
}

// line is one line of the file.
type line struct {
	Header *Header       `json:"header,omitempty"`
	Event  *engine.Event `json:"event,omitempty"`
}

// Dir is where the runs of this user are kept: $XDG_STATE_HOME/deployer/runs,
// or ~/.local/state/deployer/runs.
func Dir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "deployer", "runs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("cannot find a place for the logs of runs: set XDG_STATE_HOME or HOME")
	}
	return filepath.Join(home, ".local", "state", "deployer", "runs"), nil
}

// Path is the file of a run.
func Path(dir, run string) string { return filepath.Join(dir, run+suffix) }

const suffix = ".jsonl"
