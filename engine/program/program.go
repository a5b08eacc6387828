package program

import (
	"encoding/json"
	"slices"
	"time"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/taskargs"
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
	MaxFail map[string]Limit
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

// Block is a group of tasks with a condition, a throttle, a rollout or a rescue.
type Block struct {
	Name   string
	Pos    strictyaml.Pos
	Parent *Block
	// When are the conditions; each host evaluates them once, when it enters the block.
	When     []*lang.Expr
	Throttle *lang.Expr
	Rollout  *Rollout // nil when the block has none
	Needs    []Need
	Scopes   []*lang.Scope
	// OnlyHosts are the hosts that the block is for; nil for all hosts of the play.
	OnlyHosts map[string]bool
	refs      lang.Refs
	// Begin, Rescue, Always and End are indexes into Program.Ops; Rescue and Always are 0
	// when the block has no such part.
	Begin, Rescue, Always, End int
}

// Label is a point in the program that other tasks may wait for.
type Label struct {
	Name  string
	Index int // into Program.Labels
	Op    int // into Program.Ops
	Play  *Play
	Pos   strictyaml.Pos
}

// Need is a wait for a label.
type Need struct {
	Label *Label
	// Count is the number of hosts that must have passed the label; 0 for all live hosts.
	Count int
	Pos   strictyaml.Pos
}

// Mode is the place where a task runs, which depends on the interface that its kind
// implements.
type Mode int

// The modes.
const (
	OnHost       Mode = iota // a module: the agent runs it
	Prepared                 // a preparer: the controller turns it into a module for the agent
	OnController             // an action: the controller runs it
)

// Task is one compiled task or handler.
type Task struct {
	// ID is unique in the program and stays the same when the same playbook is compiled
	// again: "<play from 1>.<role>.<number in the play>".
	ID   string
	Name string
	// Prefix is written before the name in output, such as "restore: " for a task that
	// restores what another task changed.
	Prefix string
	Role   string
	Pos    strictyaml.Pos
	Play   *Play
	Kind   engine.Kind
	Mode   Mode
	Args   *taskargs.Args

	When        []*lang.Expr
	Loop        *Loop
	Register    string
	Sets        []string // the variables that the task gives to later tasks of the host
	ChangedWhen []*lang.Expr
	FailedWhen  []*lang.Expr
	Until       []*lang.Expr

	IgnoreErrors bool
	Retries      int
	Delay        time.Duration
	Timeout      time.Duration
	Throttle     *lang.Expr
	RunOnce      bool
	// Delegate is the name of the host that executes the task instead; nil for the host
	// itself.
	Delegate *lang.Text
	Secret   bool
	Needs    []Need
	Tags     []string
	Handler  bool
	// Notify are the handlers that run later when this task changes something.
	Notify []*Task
	// Block is the innermost block around the task; nil for none.
	Block *Block
	// FixedArgs is the JSON of the arguments of a module that are the same on all
	// hosts; nil for other tasks. It must not be changed.
	FixedArgs json.RawMessage
	// Files are the templates and files of the task's role or playbook.
	Files *lang.Files
	// Scopes are the layers of variables that the task sees, outermost first.
	Scopes []*lang.Scope
	// OnlyHosts are the hosts of the play that the task is for; nil for all. Other hosts
	// skip the task without an event.
	OnlyHosts map[string]bool

	LoopLabels  []*lang.Text // how items of the loops at includes around it are shown
	RunAs       *lang.Text   // the user of its programs; nil for the agent's own user
	Environment []*lang.Value
	NameText    *lang.Interpolation
	replaces    bool      // the task replaces another one, whose item and results it does not have
	refs        lang.Refs // see Refs
	whenRefs    lang.Refs // see WhenRefs
	afterRefs   lang.Refs // see AfterRefs
	readOnly    bool      // see ReadOnly
	hasGate     bool      // Gate returns a task
	gate        bool      // the task is the gate of the task as written
}

// NeedsEvaluation reports whether the controller must evaluate the result of the task
// before the host may continue: changed_when, failed_when or until depends on it.
func (t *Task) NeedsEvaluation() bool {
	return t.ChangedWhen != nil || t.FailedWhen != nil || t.Until != nil
}

// Refs returns the variables that must be known before the task can be rendered, including
// those that the variables of its scopes read.
func (t *Task) Refs() lang.Refs { return t.refs }

// WhenRefs returns the variables of Refs that the conditions of the task read.
func (t *Task) WhenRefs() lang.Refs { return t.whenRefs }

// AfterRefs returns the variables that are read when the task has a result.
func (t *Task) AfterRefs() lang.Refs { return t.afterRefs }

// LimitsHosts reports whether the number of hosts inside the block is limited, by throttle
// or rollout.
func (b *Block) LimitsHosts() bool { return b.Throttle != nil || b.Rollout != nil }

// Refs returns the variables that the condition, the throttle and the rollout of the block
// read.
func (b *Block) Refs() lang.Refs { return b.refs }

// AllTasks returns the tasks of all operations in order, then the handlers of all plays.
func (p *Program) AllTasks() []*Task {
	all := slices.Clone(p.Tasks)
	for _, play := range p.Plays {
		all = append(all, play.Handlers...)
	}
	return all
}
