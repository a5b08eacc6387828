package undo

import (
	"testing"

	"deployer/engine"
)

func TestRestoredMerges(t *testing.T) {
	line := func(s engine.State) BackupRecord { return BackupRecord{Left: true, State: s} }
	type st = engine.State
	tests := map[string]struct {
		was, left, now st
		cut            bool // the run did not record the state that it left
		to             st
		fate           engine.RevertState
	}{
		"as left":                     {was: st{"a": "1"}, left: st{"a": "2"}, now: st{"a": "2"}, to: st{"a": "1"}, fate: engine.RevertRestore},
		"as it was":                   {was: st{"a": "1"}, left: st{"a": "2"}, now: st{"a": "1"}, to: st{"a": "1"}, fate: engine.RevertUnchanged},
		"changed since":               {was: st{"a": "1"}, left: st{"a": "2"}, now: st{"a": "3"}, to: st{"a": "1"}, fate: engine.RevertDrifted},
		"other key changed since":     {was: st{"a": "1", "b": "1"}, left: st{"a": "2", "b": "1"}, now: st{"a": "2", "b": "9"}, to: st{"a": "1", "b": "9"}, fate: engine.RevertRestore},
		"the run changed nothing":     {was: st{"a": "1"}, left: st{"a": "1"}, now: st{"a": "2"}, to: st{"a": "2"}, fate: engine.RevertUnchanged},
		"made":                        {left: st{"a": "1"}, now: st{"a": "1"}, fate: engine.RevertRestore},
		"made, and gone":              {left: st{"a": "1"}, fate: engine.RevertUnchanged},
		"made, and changed since":     {left: st{"a": "1"}, now: st{"a": "2"}, fate: engine.RevertDrifted},
		"removed":                     {was: st{"a": "1"}, to: st{"a": "1"}, fate: engine.RevertRestore},
		"removed, and made by others": {was: st{"a": "1"}, now: st{"a": "2"}, to: st{"a": "1"}, fate: engine.RevertDrifted},
		"removed since":               {was: st{"a": "1"}, left: st{"a": "2"}, to: st{"a": "1"}, fate: engine.RevertDrifted},
		"cut short":                   {was: st{"a": "1"}, now: st{"a": "3"}, cut: true, to: st{"a": "1"}, fate: engine.RevertRestore},
		"half restored, half as left": {was: st{"a": "1", "b": "1"}, left: st{"a": "2", "b": "2"}, now: st{"a": "1", "b": "2"}, to: st{"a": "1", "b": "1"}, fate: engine.RevertRestore},
		"made, and others are in it":  {left: st{"a": "1"}, now: st{"a": "1", "of ann": "yes"}, fate: engine.RevertDrifted},
		"made, and ours are in it":    {left: st{"a": "1"}, now: st{"a": "1", "of bob": "yes"}, fate: engine.RevertRestore},
		"removed, and restored":       {was: st{"a": "1", "of bob": "yes"}, now: st{"a": "1"}, to: st{"a": "1"}, fate: engine.RevertUnchanged},
		"ours came since":             {was: st{"a": "1"}, left: st{"a": "2", "of bob": "yes"}, now: st{"a": "2"}, to: st{"a": "1"}, fate: engine.RevertRestore},
	}
	for name, tt := range tests {
		c := &resourceChange{before: BackupRecord{State: tt.was}, interrupted: tt.cut, dependent: func(key string) bool { return key == "of bob" }}
		if !tt.cut {
			l := line(tt.left)
			c.after, c.later = &l, []BackupRecord{l}
		}
		if to, fate := c.target(tt.now); fate != tt.fate || !equalStates(to, tt.to) && fate != engine.RevertDrifted {
			t.Errorf("%s: %v, %s", name, to, fate)
		}
	}
	if got := describeStateChange(st{"a": "1", "secret_hash": "x", "c": "same"}, st{"a": "", "secret_hash": "y", "c": "same"}); got != "restore a 1 -> none, hash" {
		t.Errorf("got %q", got)
	}
}

func TestStepsOfATask(t *testing.T) {
	for step, want := range map[string]bool{"1.web.1": true, "1.web.1#2": true, "1.web.1@2#1": true, "1.web.1.stat": true, "1.web.10": false, "1.web": false} {
		if isStepOfTask(step, "1.web.1") != want {
			t.Errorf("%s: want %t", step, want)
		}
	}
}
