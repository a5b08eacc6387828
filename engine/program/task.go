package program

import (
	"encoding/json"
	"time"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/taskargs"
	"deployer/strictyaml"
)

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
	// hosts; nil for other tasks. FixedArgs must not be changed.
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
