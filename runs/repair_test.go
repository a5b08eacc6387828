package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/project"
)

// TestRepairSparesOneMinion checks that the runs of apply may lose one minion of
// three, and that an install by its own verb may not.
func TestRepairSparesOneMinion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	text := "hosts: {m1: {address: 192.0.2.1}, n1: {address: 192.0.2.2}, n2: {address: 192.0.2.3}, n3: {address: 192.0.2.4}}\n" +
		"roles: {master: m1, minion: 'n1,n2,n3'}\ncluster: {kubernetes: v1.36.3}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c := Runner{Options: project.Options{Agents: noAgents{}}}
	o := Options{Invocation: journal.Invocation{Inventory: file}}
	applied := func(o Options) (*Run, error) {
		made, err := c.Repair(o)
		if err != nil {
			return nil, err
		}
		p := &plan.Plan{Files: made.Project.Digests(), Invocation: made.Invocation}
		return c.Apply(p, journal.Plan{}, Options{})
	}
	for name, verb := range map[string]struct {
		prepare func(Options) (*Run, error)
		want    int
	}{
		"install":             {c.Install, 0},
		"apply's check":       {c.Repair, 1},
		"apply of its plan":   {applied, 1},
		"apply, cluster down": {c.Start, 1},
	} {
		r, err := verb.prepare(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		budget := r.failureBudget()
		if _, masters := budget["master"]; masters || budget["minion"].Of(3) != verb.want {
			t.Errorf("%s: budget %v, want %d minions", name, budget, verb.want)
		}
	}
}

// noAgents has the digest of an agent that no host gets.
type noAgents struct{}

func (noAgents) AgentBinary(string) ([]byte, error) { return nil, errors.New("there is none") }
func (noAgents) AgentGzip(string) ([]byte, error)   { return nil, errors.New("there is none") }
func (noAgents) AgentDigest(string) (string, error) { return strings.Repeat("a", 64), nil }
