package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/journal"
	"deployer/project"
)

// TestKeepNodesExcludesDead: a host that is dead cannot stay as a minion.
func TestKeepNodesExcludesDead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	text := "cluster: {name: test}\nhosts:\n  m1: {address: 10.0.0.1}\n  m2: {address: 10.0.0.2}\n  m3: {address: 10.0.0.3}\n  n1: {address: 10.0.0.4}\nroles: {master: [m1, m2, m3], minion: [n1]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := ScaleDownOptions{Hosts: []string{"m3"}, Dead: true}
	o.Inventory, o.KeepNodes = file, true
	_, err := Runner{}.ScaleDown(o)
	var wrong *project.UserError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--keep-node") {
		t.Errorf("%v, want an error of the user about --keep-node", err)
	}
}

func TestUndoOfADemotion(t *testing.T) {
	call := journal.Invocation{Verb: journal.VerbScaleDown, Leaving: []string{"m3"}, KeepNodes: true}
	if got, want := undoScaleDown(call), "the hosts are masters again with: deployer scale-up m3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if call.Same(journal.Invocation{Verb: journal.VerbScaleDown, Leaving: []string{"m3"}}) {
		t.Error("the removal of a node counts as the same invocation as a demotion")
	}
}
