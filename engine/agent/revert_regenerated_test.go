package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// TestRevertOfARegeneratedFile: the run removes the state of a service, which makes
// it again. Each revert removes the present state once, and restores no content.
func TestRevertOfARegeneratedFile(t *testing.T) {
	for name, inRollout := range map[string]bool{"of another run": false, "in a rollout": true} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			serviceWrites := func(content string) { agenttest.WriteAged(t, h.root+"/state", content, 0o600, 0) }
			state := func() string {
				got, _ := os.ReadFile(h.root + "/state")
				return string(got)
			}
			serviceWrites("policy none")
			agenttest.WriteAged(t, h.root+"/config", "none", 0o600, 0)
			h.does("r1", "regenerate", "/state", "")
			h.does("r1", "write", "/config", "static")
			serviceWrites("policy static")
			if inRollout {
				revert := func(task string) engine.Result {
					return h.reverts("r1", engine.Revert{Run: "r1", Task: task, InRollout: true})
				}
				for _, task := range []string{"1.play.2", "1.play.1"} {
					if r := revert(task); r.Failure != nil || r.Status != engine.StatusChanged {
						t.Fatalf("%s: %s, %v", task, r.Status, r.Failure)
					}
				}
				if got := state(); got != "" {
					t.Errorf("the state is %q after the restore", got)
				}
				serviceWrites("policy none, again")
				if r := revert("1.play.1"); r.Failure != nil || r.Status != engine.StatusOK {
					t.Errorf("a second restore: %s, %v", r.Status, r.Failure)
				}
				return
			}
			h.reconnect()
			if diff := cmp.Diff([]string{"/config: restore ", "/state: restore "}, fates(h.looks("r1"))); diff != "" {
				t.Error(diff)
			}
			r := h.reverts("r2", engine.Revert{Run: "r1"})
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
			var action string
			for _, e := range r.Change.Effects {
				if e.Target == "/state" {
					action = e.Action + e.Diff
				}
			}
			if action != "remove: its service makes it again when it starts" || state() != "" {
				t.Errorf("action %q, state %q", action, state())
			}
			serviceWrites("policy none, again")
			h.reconnect()
			if diff := cmp.Diff([]string{"/config: unchanged ", "/state: unchanged "}, fates(h.looks("r1"))); diff != "" {
				t.Errorf("after the revert: %s", diff)
			}
			if r := h.reverts("r3", engine.Revert{Run: "r1"}); r.Failure != nil || state() != "policy none, again" {
				t.Errorf("a second revert: %v, state %q", r.Failure, state())
			}
			// The revert of the revert: the policy changes once more.
			if r := h.reverts("r4", engine.Revert{Run: "r2"}); r.Failure != nil || state() != "" {
				t.Errorf("the revert of the revert: %v, state %q", r.Failure, state())
			}
			serviceWrites("policy static, again")
			h.reconnect()
			if r := h.reverts("r5", engine.Revert{Run: "r1"}); r.Failure != nil || state() != "" {
				t.Errorf("the first revert, again: %v, state %q", r.Failure, state())
			}
		})
	}
}

// TestRegeneratedFileThatIsMissing: a revert has nothing to do when the service has
// not made its file again.
func TestRegeneratedFileThatIsMissing(t *testing.T) {
	h := newHistory(t)
	agenttest.WriteAged(t, h.root+"/state", "policy none", 0o600, 0)
	h.does("r1", "regenerate", "/state", "")
	if diff := cmp.Diff([]string{"/state: unchanged "}, fates(h.looks("r1"))); diff != "" {
		t.Error(diff)
	}
	log, err := os.ReadFile(h.root + DefaultStateDir + "/runs/r1/kept.jsonl")
	if err != nil || !strings.Contains(string(log), `"regenerated":true`) || strings.Contains(string(log), `"data"`) {
		t.Errorf("%v, %s", err, log)
	}
}

// TestRevertOfAStopAndAStart: a revert undoes the steps of one resource at different
// places: the start before the files, the stop after them.
func TestRevertOfAStopAndAStart(t *testing.T) {
	h := newHistory(t)
	h.does("r0", "turn", "lamp", "late")
	h.does("r1", "turn", "lamp", "off")
	h.does("r1", "write", "/a", "new")
	h.does("r1", "turn", "lamp", "late")
	for _, item := range h.looks("r1").Items {
		if want := item.Name == "lamp"; item.NeedsFilesFirst != want || item.BeforeFiles != want {
			t.Errorf("%+v", item)
		}
	}
}
