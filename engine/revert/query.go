package revert

import (
	"fmt"

	"deployer/engine"
	"deployer/engine/program"
)

// Query returns the program that reads the record of a run from each host, and previews the
// revert of the run. It is for a dry run; ParseHistory decodes the results.
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

// ParseHistory decodes the result of Query on a host.
func ParseHistory(out engine.Output) (engine.RunHistory, error) {
	var p engine.RunHistory
	if err := out.Decode(&p); err != nil {
		return p, fmt.Errorf("decoding the history of the run on a host: %w", err)
	}
	return p, nil
}
