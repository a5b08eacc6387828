package engine

import "strings"

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
}

// The ids of the steps that make the record begin with these.
const (
	rolloutBegun = "rollout begun:"
	rolloutDone  = "rollout done:"
)

// ID returns the id of the step that makes the record.
func (p RolloutRecord) ID() string {
	if p.Done {
		return rolloutDone + p.Rollout
	}
	return rolloutBegun + p.Rollout
}

// IsRolloutRecord reports whether a step makes a RolloutRecord. The record is one of runs,
// so a revert has nothing to restore of it.
func IsRolloutRecord(id string) bool {
	return strings.HasPrefix(id, rolloutBegun) || strings.HasPrefix(id, rolloutDone)
}
