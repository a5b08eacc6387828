package revert

import (
	"deployer/engine"
	"deployer/engine/program"
)

// Purge returns the program that removes the backups of runs from every host.
func Purge(p engine.Purge) (*program.Program, error) {
	b := &builder{out: &program.Program{Name: "purge"}}
	b.open(&program.Play{Hosts: "all"}, "purge", nil)
	t, err := (&program.Task{Name: "remove backups"}).Replacing(p.ID(), engine.PurgeModule, p)
	if err != nil {
		return nil, err
	}
	b.task(t)
	b.close()
	return b.out, nil
}
