package engine

import "strings"

// PostTasksModule is the name of a module that every agent has in addition to its
// registry, like [RevertModule]; its arguments are a DuePostTasks.
const PostTasksModule = "due_post_tasks"

// DuePostTasks records on a host that the post_tasks of a rollout are due, because its
// pre_tasks have begun, or that they have run. The record outlives the run: the next
// run of the same playbook runs the post_tasks, also where nothing else is left to do.
type DuePostTasks struct {
	Rollout string // a name that is the same in the next run
	Done    bool   `json:",omitempty"`
}

// The ids of the steps that make the record begin with these.
const (
	postTasksDone = "post_tasks done:"
	postTasksDue  = "post_tasks due:"
)

// ID returns the id of the step that makes the record.
func (p DuePostTasks) ID() string {
	if p.Done {
		return postTasksDone + p.Rollout
	}
	return postTasksDue + p.Rollout
}

// IsPostTasksStep reports whether a step makes the record of a DuePostTasks. The record is
// one of runs, so a revert has nothing to restore of it.
func IsPostTasksStep(id string) bool {
	return strings.HasPrefix(id, postTasksDone) || strings.HasPrefix(id, postTasksDue)
}
