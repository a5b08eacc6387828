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

// Program is a compiled playbook: a list of operations that every host goes
// through with its own cursor, from the first to the last.
type Program struct {
	Name  string
	Plays []*Play
	Ops   []Op
	// Tasks are the tasks of Ops in order, without handlers.
	Tasks []*Task
	// Labels are the points that tasks wait for with needs.
	Labels []*Label
	// Secrets are the texts of vars_files that must reach no output.
	Secrets []string
	// Prompts are the variables to ask for that were not given.
	Prompts []Prompt
	// Definers are the first places that give a variable a value in the run, by
	// its name.
	Definers map[string]strictyaml.Pos
}

// Play is one play of a program.
type Play struct {
	Index int
	Name  string
	Pos   strictyaml.Pos
	// Hosts is the pattern of the hosts that take part.
	Hosts string
	// MaxFail overrides the budget of the run for groups while a host is in
	// this play.
	MaxFail map[string]Limit
	// AnyErrorsFatal ends the run when a host is lost in the play.
	AnyErrorsFatal bool
	// ForceHandlers runs what was notified on a host that fails, too.
	ForceHandlers bool
	// Forks bounds how many hosts of the play work at one time; 0 for no bound
	// of its own.
	Forks int
	// Handlers are in an order in which each comes after those that notify it.
	Handlers []*Task
	// Serial cuts the hosts of the play into batches.
	Serial Serial
	// Linear is true when there is a barrier before each of its tasks.
	Linear bool
	// Begin and End are the indexes of its first and last operation. Batch is
	// that of OpBatch, 0 when all hosts go at once. Last is where its handlers run
	// at the end.
	Begin, Batch, Last, End int
}

// OpKind says what an operation is.
type OpKind int

// The operations. Index ranges of a Block say where its parts are.
const (
	OpPlay    OpKind = iota // a host not in Play goes to Play.End
	OpBarrier               // wait for all live hosts of the play; after OpBatch, of the batch
	OpBatch                 // wait until the batches before the host's own have ended the play
	OpTask                  // Task
	OpBlock                 // Block begins: its condition and throttle
	OpRescue                // reached without a failure: go to Block.Always or Block.End
	OpAlways                // from here on, failures are kept until Block.End
	OpEnd                   // Block ends
	OpLabel                 // Label is passed
	OpEndHost               // a host for which the condition of Ends holds goes to Play.Last
	OpFlush                 // run the handlers of Play that were notified
	OpPlayEnd
)

// Op is one operation.
type Op struct {
	Kind  OpKind
	Play  *Play
	Task  *Task
	Block *Block
	Ends  *Block // of OpEndHost; it has nothing inside
	Label *Label
}

// Block is a group of tasks with a condition, a throttle, or a rescue. Rescue
// and Always are 0 when there is none.
type Block struct {
	Name   string
	Pos    strictyaml.Pos
	Parent *Block
	// When is evaluated once for each host, on entering.
	When     []*lang.Expr
	Throttle *lang.Expr
	Rollout  *Rollout // nil when hosts need no protection from the block
	Needs    []Need
	Scopes   []*lang.Scope
	// Only are the hosts that the block is for; as Task.Only.
	OnlyHosts map[string]bool
	refs      lang.Refs
	// Begin, Rescue, Always and End are indexes into Program.Ops.
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
	// Count is how many hosts must have passed it; 0 means all that are live.
	Count int
	Pos   strictyaml.Pos
}

// Mode says where a task runs.
type Mode int

// The modes.
const (
	OnHost       Mode = iota // a Module
	Prepared                 // a Preparer: becomes a Module on the controller
	OnController             // an Action
)

// Task is one compiled task.
type Task struct {
	// ID is unique in the program and the same in the next run of the same
	// playbook: "<play from 1>.<role>.<number in the play>".
	ID   string
	Name string
	// Prefix comes before the name where people see it: "restore: " of a task that
	// stands for another one.
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
	Sets        []string // the variables that it gives to later tasks of the host
	ChangedWhen []*lang.Expr
	FailedWhen  []*lang.Expr
	Until       []*lang.Expr

	IgnoreErrors bool
	Retries      int
	Delay        time.Duration
	Timeout      time.Duration
	Throttle     *lang.Expr
	RunOnce      bool
	// Delegate names the host that the task is done on instead; may be nil.
	Delegate *lang.Text
	Secret   bool
	Needs    []Need
	Tags     []string
	Handler  bool
	// Notify are the handlers that run later when this task changed something.
	Notify []*Task
	// Block is the innermost block that the task stands in.
	Block *Block
	// FixedArgs is the JSON of the arguments of a module that are the same on all
	// hosts; nil for other tasks. It must not be changed.
	FixedArgs json.RawMessage
	// Files are the templates and files of the task's role or playbook.
	Files *lang.Files
	// Scopes are the layers of variables, outer ones first.
	Scopes []*lang.Scope
	// Only are the hosts that the task is for, of those of its play; nil for
	// all. The others go past it without a word.
	OnlyHosts map[string]bool

	LoopLabels  []*lang.Text // how items of the loops at includes around it are shown
	RunAs       *lang.Text   // who runs its programs; nil for the agent's own user
	Environment []*lang.Value
	NameText    *lang.Interpolation
	replaces    bool      // of another one, whose item and results are not there
	refs        lang.Refs // of everything that is evaluated before the task is sent
	whenRefs    lang.Refs // of its conditions alone
	afterRefs   lang.Refs // of what is evaluated on its result
	readOnly    bool      // it only looks
	hasGate     bool      // it can be a gate
	gate        bool      // it is the gate of the task as written
}

// NeedsEvaluation tells whether the controller must look at the task's result before
// the host may go on.
func (t *Task) NeedsEvaluation() bool {
	return t.ChangedWhen != nil || t.FailedWhen != nil || t.Until != nil
}

// Refs are the variables that must be known before the task can be rendered,
// those that its scopes' variables refer to included.
func (t *Task) Refs() lang.Refs { return t.refs }

// WhenRefs are those of the variables that the task's conditions look at.
func (t *Task) WhenRefs() lang.Refs { return t.whenRefs }

// AfterRefs are those of the variables that are looked at once the task has a
// result.
func (t *Task) AfterRefs() lang.Refs { return t.afterRefs }

// LimitsHosts reports whether hosts take turns in the block.
func (b *Block) LimitsHosts() bool { return b.Throttle != nil || b.Rollout != nil }

// Refs are the variables that the block's condition, throttle and rollout look at.
func (b *Block) Refs() lang.Refs { return b.refs }

// AllTasks returns the tasks of all operations in order, then the handlers of all plays.
func (p *Program) AllTasks() []*Task {
	all := slices.Clone(p.Tasks)
	for _, play := range p.Plays {
		all = append(all, play.Handlers...)
	}
	return all
}
