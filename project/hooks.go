package project

import (
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// hooksVariable is the variable that has the hooks of cluster.maintenance.
const hooksVariable = "maintenance_hooks"

// addHooks gives every host the hooks of the cluster as a variable; a task that reads
// the variable evaluates the texts for its host. hosts.NAME.vars has those of another host,
// such as one that is dead.
func (p *Project) addHooks(given map[string]HostVars) error {
	list := make([]any, len(p.Cluster.Hooks))
	for i, h := range p.Cluster.Hooks {
		list[i] = h.Value()
	}
	value, err := p.hostVarCompiler().Compile(list, func() strictyaml.Pos {
		return strictyaml.At(p.Inventory.File, findKey(p.Inventory.Cluster, []string{"maintenance", "hooks"}))
	})
	if err != nil {
		return AsUserError(err)
	}
	for _, vars := range given {
		vars.Own[hooksVariable] = value
		if !lang.IsDeferred(value) { // others get the rest when it is computed
			vars.Shared[hooksVariable] = value
		}
	}
	return nil
}
