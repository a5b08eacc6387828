package schedule

import (
	"fmt"

	"deployer/engine"
)

// maxRetained is the maximum memory for results of one host, in bytes: registered results,
// and in check mode the effects for the plan. Most hosts need a few kilobytes.
const maxRetained = 256 << 20

// boundRetained counts the memory of a result. boundRetained fails the step and drops the result when
// the host exceeds the maximum.
func (h *host) boundRetained(e *entry, res *engine.Result) {
	if e.task.Register == "" && len(e.task.Sets) == 0 && !h.run.opts.CheckOnly {
		return
	}
	if h.retained += res.Weight; h.retained <= maxRetained {
		return
	}
	h.retained -= res.Weight
	res.Output, res.Change, res.Status = nil, nil, engine.StatusFailed
	res.Failure = &engine.Failure{Message: fmt.Sprintf(
		"the results of this host that the run has to keep take more than %d MB of memory: register less, or let the commands put out less", maxRetained>>20)}
}
