package compile

import (
	"testing"
	"time"

	"deployer/engine"
)

// TestTimeLimit: a task without a timeout has the limit of its kind; 0 is no limit.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	p := mustCompile(t, "site.yaml", `
- hosts: all
  tasks:
    - name: the kind's
      file: {path: /x}
    - name: its own
      timeout: 10s
      file: {path: /x}
    - name: none
      timeout: 0
      file: {path: /x}
    - block:
        - name: around it
          file: {path: /x}
        - name: none inside
          timeout: 0
          file: {path: /x}
      timeout: 2h
`)
	want := map[string]time.Duration{"the kind's": engine.DefaultTimeLimit, "its own": 10 * time.Second, "none": 0, "around it": 2 * time.Hour, "none inside": 0}
	for _, task := range p.Tasks {
		if task.Timeout != want[task.Name] {
			t.Errorf("%s: %v, want %v", task.Name, task.Timeout, want[task.Name])
		}
		delete(want, task.Name)
	}
	if len(want) > 0 {
		t.Errorf("there was no task %v", want)
	}
	k := engine.Kind{TimeLimit: engine.NoTimeLimit}
	if k.EffectiveTimeLimit() != 0 {
		t.Errorf("a kind that bounds itself is bounded by %v", k.EffectiveTimeLimit())
	}
}
