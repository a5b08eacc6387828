package revert

import (
	"encoding/json"
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
)

// Query returns the program that asks each host what it knows of a run, and what
// reverting the run would do. It is for a dry run; ParseHistory reads the answers.
func Query(run string, force bool) (*program.Program, error) {
	b := &builder{out: &program.Program{Name: "read history"}}
	b.open(&program.Play{Hosts: "all"}, "read history", nil)
	v := engine.Revert{Run: run, Force: force, Preview: true}
	t, err := (&program.Task{Name: "restore"}).Replacing(v.ID(), engine.RevertModule, v)
	if err != nil {
		return nil, err
	}
	b.task(t)
	b.close()
	return b.out, nil
}

// ParseHistory decodes the answer of a host to Query.
func ParseHistory(out engine.Output) (engine.RunHistory, error) {
	var p engine.RunHistory
	raw, err := json.Marshal(out)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return p, fmt.Errorf("decoding the history of the run on a host: %w", err)
	}
	return p, nil
}
