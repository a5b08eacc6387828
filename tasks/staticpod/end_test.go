package staticpod

import (
	"os"
	"strings"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

// TestEndedContainerStartsAgain: a program that reads its files only when it starts is
// ended, once, and another container must run in its place.
func TestEndedContainerStartsAgain(t *testing.T) {
	t.Parallel()
	sys, k := proxied(t)
	restart := func() *Reload {
		r := newReload()
		r.Signal = signalEnd
		return r
	}
	if tasktest.Check(t, sys, restart()).Needed {
		t.Error("a container that started after its files changed is restarted")
	}
	writeConfig(t, sys, "changed")
	change := tasktest.Check(t, sys, restart())
	if actions := tasktest.Actions(change); len(actions) != 1 || !strings.HasSuffix(actions[0], "restart: it started before "+configPath+" changed") {
		t.Fatalf("actions %q", actions)
	}
	k.signal = func(string) {}
	if _, err := restart().Apply(t.Context(), sys, change); err == nil || !strings.Contains(err.Error(), "container-u1 has not ended yet") {
		t.Errorf("a container that does not end: %v", err)
	}
	var sent string
	k.signal = func(args string) {
		sent = args
		k.pods, k.created = []pod{{"u2", "new", "RUNNING"}}, time.Now()
	}
	if _, err := restart().Apply(t.Context(), sys, change); err != nil {
		t.Fatal(err)
	}
	if want := "tasks kill --signal SIGTERM container-u1"; sent != want {
		t.Errorf("ran %q, want %q", sent, want)
	}
	if tasktest.Check(t, sys, restart()).Needed {
		t.Error("the new container is restarted")
	}
	writeConfig(t, sys, "old") // by a revert, with the time that it had
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(sys.Path(configPath), past, past); err != nil {
		t.Fatal(err)
	}
	if !tasktest.Check(t, sys, restart()).Needed {
		t.Error("a restored file is not read")
	}
}
