package engine

import (
	"strings"
	"time"
)

// RolloutRecordModule is the name of a module that every agent has in addition to its
// registry, like [RevertModule]; its arguments are a RolloutRecord.
const RolloutRecordModule = "rollout_record"

// RolloutRecord records on a host that it has begun a rollout, or has come to its end. The
// record outlives the run. After a run that was killed in between, the next run of the same
// playbook takes the host through the checks and the post_tasks of the rollout, also where
// nothing is left to change.
type RolloutRecord struct {
	Rollout string // a name that is the same in the next run
	Done    bool   `json:",omitempty"`
	// Passed is true when the change has passed its gates, and only post_tasks follow.
	Passed bool `json:",omitempty"`
	// IfLost, when it is not nil, is what the host does from now on when it loses the
	// controller before the change has passed. Only the process of the agent knows it.
	IfLost *UnattendedRestore `json:",omitempty"`
}

// UnattendedRestore restores on a host what a rollout has changed, without a controller.
type UnattendedRestore struct {
	// After is the time without a session of any controller after which the restore begins.
	After time.Duration
	// Steps are the reverts, the last step first, and the handlers of what they restore.
	Steps []Step
}

// The ids of the steps that make the record begin with these.
const (
	rolloutBegun  = "rollout begun:"
	rolloutArmed  = "rollout armed:"
	rolloutPassed = "rollout passed:"
	rolloutDone   = "rollout done:"
)

// ID returns the id of the step that makes the record.
func (p RolloutRecord) ID() string {
	switch {
	case p.Done:
		return rolloutDone + p.Rollout
	case p.Passed:
		return rolloutPassed + p.Rollout
	case p.IfLost != nil:
		return rolloutArmed + p.Rollout
	}
	return rolloutBegun + p.Rollout
}

// IsRolloutRecord reports whether a step makes a RolloutRecord. The record is one of runs,
// so a revert has nothing to restore of it.
func IsRolloutRecord(id string) bool {
	for _, prefix := range []string{rolloutBegun, rolloutArmed, rolloutPassed, rolloutDone} {
		if strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}
