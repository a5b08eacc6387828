package engine

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

// ID returns the id of the step that makes the record.
func (p DuePostTasks) ID() string {
	if p.Done {
		return "post_tasks done:" + p.Rollout
	}
	return "post_tasks due:" + p.Rollout
}
