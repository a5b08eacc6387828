package revert

import (
	"deployer/engine"
	"deployer/engine/playbook"
)

// Purge returns the program that removes the backups of runs from every host.
func Purge(p engine.Purge) (*playbook.Program, error) {
	b := &builder{out: &playbook.Program{Name: "purge"}}
	b.open(&playbook.Play{Hosts: "all"}, "purge", nil)
	t, err := (&playbook.Task{Name: "remove backups"}).Replacing(p.ID(), engine.PurgeModule, p)
	if err != nil {
		return nil, err
	}
	b.task(t)
	b.close()
	return b.out, nil
}
