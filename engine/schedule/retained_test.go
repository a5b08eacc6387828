package schedule

import (
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/program"
)

// TestRetainedResultsAreBounded: the texts of a host that the run retains are bounded
// for each host, over all of its sessions; texts that the run does not retain are not
// counted.
func TestRetainedResultsAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		task  program.Task
		check bool
		fails bool
	}{
		"registered result":          {program.Task{Register: "it"}, false, true},
		"result that sets variables": {program.Task{Sets: []string{"it"}}, false, true},
		"run that makes a plan":      {program.Task{}, true, true},
		"result that nothing reads":  {program.Task{}, false, false},
	} {
		h := &host{run: &run{opts: Options{CheckOnly: tt.check}}}
		e := &entry{task: &tt.task}
		for i := range 5 {
			res := engine.Result{Status: engine.StatusOK, Output: engine.Output{"x": "y"}, Weight: maxRetained / 4}
			h.boundRetained(e, &res)
			if want := tt.fails && i == 4; (res.Failure != nil) != want || (res.Output == nil) != want {
				t.Errorf("%s, result %d: %+v", name, i+1, res)
			}
			if res.Failure != nil && !strings.Contains(res.Failure.Message, "256 MB") {
				t.Errorf("%s: %s", name, res.Failure.Message)
			}
		}
	}
}
