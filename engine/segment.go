package engine

import (
	"encoding/json"
	"time"
)

// Segment is a message to a host: steps that the agent can run one after another
// without the controller.
type Segment struct {
	Run   string `json:"run"`
	Steps []Step `json:"steps"`
	// ResumedRuns are the runs that this run resumes, the newest first.
	ResumedRuns []string `json:"resumes,omitempty"`
	// CheckOnly runs the checks of the steps and changes nothing.
	CheckOnly bool `json:"check,omitempty"`
	// Unlocked runs the steps without the host's run lock: at the same time as those of other
	// runs.
	Unlocked bool `json:"beside,omitempty"`
	// Quiet suppresses the events of start and progress of the steps, in a preview. Quiet
	// is not sent.
	Quiet bool `json:"-"`
}

// Step is a task rendered for one host.
type Step struct {
	// ID is unique within the run and host, and the same in the next run of the
	// same playbook: the task's position, with "#i" for the i-th loop item.
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Module string          `json:"module"`
	Args   json.RawMessage `json:"args"`
	// OnChange holds ids of earlier steps of this segment; when it is not empty, the
	// step runs only if one of them changed something. Handlers use it.
	OnChange []string `json:"on_change,omitempty"`
	// Notifies holds the handlers that must run when this step changes something, by
	// names that are the same in the next run. The host keeps them as pending until a
	// step with the name in Handles has succeeded, in this run or a later one.
	Notifies []string `json:"notifies,omitempty"`
	Handles  string   `json:"handles,omitempty"`
	// IgnoreErrors continues the segment after a failure of this step.
	IgnoreErrors bool `json:"ignore_errors,omitempty"`
	// Retries is the maximum number of attempts after the first failure; Delay is the
	// time between attempts.
	Retries int           `json:"retries,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"`
	// Timeout bounds one attempt; 0 means no bound.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Expect is the part of the applied plan for this step; nil when there is no plan,
	// or it permits everything.
	Expect *Expect `json:"expect,omitempty"`
	// User runs the programs of the step; see Command.
	User string `json:"user,omitempty"`
	// Env is added to the environment of programs, KEY=value.
	Env []string `json:"env,omitempty"`
	// Quiet suppresses the events of start and progress of the step. Quiet is not sent.
	Quiet bool `json:"-"`
	// Secret keeps diff and output of the step out of events and journals; the host
	// sends no command lines and no texts of errors.
	Secret bool `json:"secret,omitempty"`
}

// Status is the result of a step on a host.
type Status string

// The statuses. StatusFailed and StatusUnreachable count against the failure budget.
const (
	StatusOK          Status = "ok"          // the host was in the desired state
	StatusChanged     Status = "changed"     // the step changed something; in a check, it would
	StatusSkipped     Status = "skipped"     // not run, because a condition was false
	StatusFailed      Status = "failed"      // run without success
	StatusUnreachable Status = "unreachable" // the connection was lost before the end of the step
	StatusCancelled   Status = "cancelled"   // not run, because the run or another host stopped
)

// Result is the result of one step on one host.
type Result struct {
	Host string `json:"host,omitempty"` // host of the step
	Step string `json:"step,omitempty"` // id of the step
	Name string `json:"name,omitempty"` // name of the step
	// Delegate is the host that ran the step for Host; empty when Host ran it.
	Delegate string  `json:"delegate,omitempty"`
	Status   Status  `json:"status"`           // see the statuses
	Change   *Change `json:"change,omitempty"` // result of the check
	Output   Output  `json:"output,omitempty"` // output of the step, for `register`
	// Failure is set for the statuses failed and unreachable, and for a failure that
	// was ignored.
	Failure *Failure `json:"failure,omitempty"`
	Ignored bool     `json:"ignored,omitempty"` // the step failed and has ignore_errors
	// RunOnce is true for a run_once step.
	RunOnce bool `json:"for_all,omitempty"`
	// Unknown is the reason why a check cannot find out what the step would do.
	Unknown string `json:"unknown,omitempty"`
	// MaxParallel is the maximum number of hosts that run the step in parallel; 0 means
	// no limit.
	MaxParallel int `json:"at_once,omitempty"`
	// Reason is the reason why a step was skipped or cancelled.
	Reason  string        `json:"reason,omitempty"`
	Tries   int           `json:"tries,omitempty"`  // number of attempts
	Started time.Time     `json:"started"`          // by the clock of the machine that ran the step
	Elapsed time.Duration `json:"elapsed"`          // over all attempts
	Secret  bool          `json:"secret,omitempty"` // the step is secret: change and output are empty
	// OnController is true for the result of an action. No host can claim it: it is neither sent
	// nor stored.
	OnController bool `json:"-"`
	// Weight is the approximate size of the result in the controller's memory, in
	// bytes; 0 for results of the controller.
	Weight int `json:"-"`
}

// Failure is an error that agents and controller exchange.
type Failure struct {
	// Message is one line: what failed and what to do.
	Message string `json:"message"`
	// Detail is additional text, such as the end of a command's stderr.
	Detail string `json:"detail,omitempty"`
	// Deterministic is true when the failure does not depend on the state of the host: a
	// check fails as a real run does.
	Deterministic bool `json:"certain,omitempty"`
	// Exit is the exit code of the program that failed; 0 when none did. It is not
	// sent: the message contains it.
	Exit int `json:"-"`
}

func (f *Failure) Error() string { return f.Message }
