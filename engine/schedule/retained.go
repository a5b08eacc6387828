package schedule

import (
	"fmt"

	"deployer/engine"
)

// maxRetained is how many bytes of memory the run keeps at most of what one host
// said: its registered results, and in a check what a plan has of it. That of most
// hosts is a few kilobytes.
const maxRetained = 256 << 20

// boundRetained counts what the run keeps of a result. When that is too much it keeps
// nothing of it, and the step has failed.
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
