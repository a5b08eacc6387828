package schedule

import (
	"fmt"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// loopRun gathers the results of a task's items.
type loopRun struct {
	total, done              int
	results                  []any
	changed, failed, skipped int
}

// iteration is one item of a task's loop; nil stands for a task without one.
type iteration struct {
	loop  *loopRun
	index int // from 0
	item  any
}

// push sets the variables of the item until the caller's scope ends.
func (at *iteration) push(t *program.Task, vars *lang.Vars) {
	if at != nil {
		t.Loop.SetItem(vars, at.index, at.item)
	}
}

func stepID(id string, at *iteration) string {
	if at == nil {
		return id
	}
	return fmt.Sprintf("%s#%d", id, at.index+1)
}
