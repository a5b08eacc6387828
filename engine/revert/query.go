package revert

import (
	"encoding/json"
	"fmt"

	"deployer/engine"
	"deployer/engine/playbook"
)

// Query returns the program that asks every host what it knows of a run, and what
// reverting it would do. It is for a check; see PastOf.
func Query(run string, force bool) (*playbook.Program, error) {
	b := &builder{out: &playbook.Program{Name: "look back"}}
	b.open(&playbook.Play{Hosts: "all"}, "look back", nil)
	v := engine.Revert{Run: run, Force: force, Look: true}
	t, err := (&playbook.Task{Name: "put back"}).Instead(v.ID(), engine.RevertModule, v)
	if err != nil {
		return nil, err
	}
	b.task(t)
	b.close()
	return b.out, nil
}

// ParseHistory reads the answer of a host.
func ParseHistory(out engine.Output) (engine.Past, error) {
	var p engine.Past
	raw, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return p, fmt.Errorf("reading what a host knows of the run: %w", err)
	}
	return p, nil
}
