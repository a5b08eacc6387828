package unit

import (
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	units := tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"a.service": {Active: "active"}})
	sys.Exec = units.Exec
	out := tasktest.Check(t, sys, &Process{Name: "a.service", Log: true}).Output
	started, err := time.Parse(time.RFC3339Nano, out["started"].(string))
	if err != nil || time.Since(started) > time.Minute || time.Since(started) < 0 {
		t.Errorf("started %v, %v", out["started"], err)
	}
	if out["active_state"] != "active" || out["main_pid"] != 101 || out["journal"] != "line of the journal" {
		t.Errorf("%v", out)
	}
	units.Crash("a.service")
	if again := tasktest.Check(t, sys, &Process{Name: "a.service"}).Output; again["main_pid"] == out["main_pid"] || again["journal"] != nil {
		t.Errorf("after a crash: %v", again)
	}
	if none := tasktest.Check(t, sys, &Process{Name: "b.service"}).Output; none["load_state"] != "not-found" || none["started"] != "" {
		t.Errorf("a unit that is not there: %v", none)
	}
}
