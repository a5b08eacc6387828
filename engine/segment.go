package engine

import (
	"encoding/json"
	"time"
)

// Segment is what a host is sent at once: steps that it can carry out one after
// another without hearing from the controller in between.
type Segment struct {
	Run   string `json:"run"`
	Steps []Step `json:"steps"`
	// ResumedRuns are the runs that this one goes on from, the newest first.
	ResumedRuns []string `json:"resumes,omitempty"`
	// CheckOnly means: only check, change nothing.
	CheckOnly bool `json:"check,omitempty"`
	// Unlocked lets the steps run at one time with those of other agents on the
	// host, as what somebody types there does.
	Unlocked bool `json:"beside,omitempty"`
	// Quiet keeps the starts and the progress of the steps out of the events: the
	// controller only looks before it decides. Hosts are not told.
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
	// OnChange names steps of this segment; when it is not empty the step runs
	// only if one of them changed. Handlers use it.
	OnChange []string `json:"on_change,omitempty"`
	// Notifies are the handlers that must follow when this step changes
	// something, by names that are the same in the next run. The host remembers
	// them until a step that Handles them has come to a good end, in this run or
	// a later one.
	Notifies []string `json:"notifies,omitempty"`
	Handles  string   `json:"handles,omitempty"`
	// IgnoreErrors lets the segment go on after this step failed.
	IgnoreErrors bool `json:"ignore_errors,omitempty"`
	// Retries is how many more times to try after a failure, Delay apart.
	Retries int           `json:"retries,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"`
	// Timeout bounds one try; 0 means none.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Expect is what the plan that is applied allows the step to do; nil when
	// there is no plan, or it left that open.
	Expect *Expect `json:"expect,omitempty"`
	// User is who the programs of the step run as; see Command.
	User string `json:"user,omitempty"`
	// Env is added to the environment of programs, KEY=value.
	Env []string `json:"env,omitempty"`
	// Secret keeps diff and output of the step out of events and journals, and has
	// the host withhold command lines and the texts of errors.
	Secret bool `json:"secret,omitempty"`
}

// Status is how a step ended on a host.
type Status string

// The statuses. StatusFailed and StatusUnreachable count against the failure budget.
const (
	StatusOK          Status = "ok"          // everything was as wanted
	StatusChanged     Status = "changed"     // something was changed; in a check, would be
	StatusSkipped     Status = "skipped"     // not tried, because a condition did not hold
	StatusFailed      Status = "failed"      // tried and not done
	StatusUnreachable Status = "unreachable" // the host was lost before it was done
	StatusCancelled   Status = "cancelled"   // not tried, because of something elsewhere
)

// Result is how one step ended on one host.
type Result struct {
	Host string `json:"host,omitempty"` // on which it ran
	Step string `json:"step,omitempty"` // id of the step
	Name string `json:"name,omitempty"` // of the step
	// Delegate is the host on which it ran for Host, when that is another one.
	Delegate string  `json:"delegate,omitempty"`
	Status   Status  `json:"status"`           // how it ended; see the statuses
	Change   *Change `json:"change,omitempty"` // what the check found
	Output   Output  `json:"output,omitempty"` // what `register` sees
	// Failure is set when the status is failed or unreachable, or when the
	// failure was ignored.
	Failure *Failure `json:"failure,omitempty"`
	Ignored bool     `json:"ignored,omitempty"` // it failed, and the run goes on as if it had not
	// RunOnce is true for a step that one host did for all (run_once).
	RunOnce bool `json:"for_all,omitempty"`
	// Unknown says, in a check, why it cannot be known what the step would do.
	Unknown string `json:"unknown,omitempty"`
	// MaxParallel is how many hosts at most do the step at one time; 0 for no limit.
	MaxParallel int `json:"at_once,omitempty"`
	// Reason says why a step was skipped or cancelled.
	Reason  string        `json:"reason,omitempty"`
	Tries   int           `json:"tries,omitempty"`  // more than 1 when it was tried again
	Started time.Time     `json:"started"`          // by the clock of where it ran
	Elapsed time.Duration `json:"elapsed"`          // over all tries
	Secret  bool          `json:"secret,omitempty"` // change and output are left out
	// Weight is about how many bytes of the controller's memory the result
	// takes, 0 for one that did not come from a host.
	Weight int `json:"-"`
}

// Failure is an error in a form that travels.
type Failure struct {
	// Message is one line: what failed and what to do.
	Message string `json:"message"`
	// Detail is more to read, such as the end of a command's stderr.
	Detail string `json:"detail,omitempty"`
	// Deterministic: it does not depend on what is on the host, so that a check fails
	// just as a real run does.
	Deterministic bool `json:"certain,omitempty"`
	// Exit is the exit code of the program that failed; 0 when none did. It is not
	// sent: the message has it.
	Exit int `json:"-"`
}

func (f *Failure) Error() string { return f.Message }
