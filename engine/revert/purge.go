package revert

import (
	"deployer/engine"
	"deployer/engine/playbook"
)

// Purge returns the program that removes from every host what it keeps for reverts.
func Purge(p engine.Purge) (*playbook.Program, error) {
	b := &builder{out: &playbook.Program{Name: "purge"}}
	b.open(&playbook.Play{Hosts: "all"}, "purge", nil)
	t, err := (&playbook.Task{Name: "remove what is kept for reverts"}).Instead(p.ID(), engine.PurgeModule, p)
	if err != nil {
		return nil, err
	}
	b.task(t)
	b.close()
	return b.out, nil
}
