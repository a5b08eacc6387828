package program

import (
	"slices"

	"deployer/limit"
	"deployer/strictyaml"
)

// Program is a compiled playbook: a list of operations that every host goes through with
// its own cursor, from the first to the last.
type Program struct {
	Name  string
	Plays []*Play
	Ops   []Op
	// Tasks are the tasks of Ops in order, without handlers.
	Tasks []*Task
	// Labels are the points that tasks wait for with needs.
	Labels []*Label
	// Secrets are the texts of vars_files that must not appear in any output.
	Secrets []string
	// Prompts are the variables without a value that the user is asked for.
	Prompts []Prompt
	// Definers holds, for each variable that tasks set or register, the place of the first
	// such task.
	Definers map[string]strictyaml.Pos
	// Unchecked says what could not be checked because it depends on a lookup that was not
	// evaluated (lang.UnknownLookups), with its place.
	Unchecked []*strictyaml.Error
}

// Play is one play of a program.
type Play struct {
	Index int
	Name  string
	Pos   strictyaml.Pos
	// Hosts is the pattern of the hosts of the play.
	Hosts string
	// MaxFail overrides the failure budget of the run, by group, while a host is in this
	// play.
	MaxFail map[string]limit.Limit
	// AnyErrorsFatal ends the run when a host fails or is lost in the play.
	AnyErrorsFatal bool
	// ForceHandlers runs the notified handlers of a host that fails in the play, too.
	ForceHandlers bool
	// Forks is the maximum number of hosts of the play that work at one time; 0 for no
	// limit beside that of the run.
	Forks int
	// Handlers are sorted so that each handler comes after the handlers that notify it.
	Handlers []*Task
	// Serial divides the hosts of the play into batches.
	Serial Serial
	// Linear is true when a barrier stands before each task of the play.
	Linear bool
	// Begin and End are the indexes of the first and the last operation of the play. Batch
	// is the index of OpBatch, 0 for a play without batches. Last is the index at which the
	// handlers run at the end of the play.
	Begin, Batch, Last, End int
}

// OpKind is the kind of an operation.
type OpKind int

// The kinds of operation. The index ranges of a Block delimit its parts.
const (
	OpPlay    OpKind = iota // a host that is not in Play continues at Play.End
	OpBarrier               // wait for all live hosts of the play; behind OpBatch, for those of the batch
	OpBatch                 // wait until the earlier batches have ended the play
	OpTask                  // execute Task
	OpBlock                 // enter Block: its condition, needs, throttle and rollout
	OpRescue                // reached without a failure: continue at Block.Always or Block.End
	OpAlways                // from here on, a failure is kept until Block.End
	OpEnd                   // leave Block
	OpLabel                 // the host passes Label
	OpEndHost               // a host on which the condition of Ends holds continues at Play.Last
	OpFlush                 // run the notified handlers of Play
	OpPlayEnd
)

// Op is one operation. Fields that its kind does not use are nil.
type Op struct {
	Kind  OpKind
	Play  *Play
	Task  *Task
	Block *Block
	Ends  *Block // of OpEndHost: the condition and its scopes; Ends has no tasks inside
	Label *Label
}

// AllTasks returns the tasks of all operations in order, then the handlers of all plays.
func (p *Program) AllTasks() []*Task {
	all := slices.Clone(p.Tasks)
	for _, play := range p.Plays {
		all = append(all, play.Handlers...)
	}
	return all
}
