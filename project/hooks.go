package project

import (
	"slices"

	"deployer/cluster"
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// The variables that have the hooks of cluster.maintenance. The second one has those of phase removed, which other hosts
// run when the host has left (hosts.NAME.vars), with the host that they are about.
const (
	hooksVariable   = "maintenance_hooks"
	removedVariable = "removed_hooks"
)

// addHooks gives every host the hooks of the cluster as variables; a task that reads one evaluates the texts for its host.
func (p *Project) addHooks(given map[string]HostVars) error {
	around, removed := []any{}, []any{}
	for _, h := range p.Cluster.Hooks {
		value := h.Value()
		if h.Phase != cluster.HookRemoved {
			around = append(around, value)
			continue
		}
		value["host"], value["address"] = "{{ host.name }}", "{{ host.address }}"
		removed = append(removed, value)
	}
	for name, list := range map[string][]any{hooksVariable: around, removedVariable: removed} {
		value, err := p.hostVarCompiler().Compile(list, p.hooksPosition)
		if err != nil {
			return AsUserError(err)
		}
		if v, later := value.(*lang.Value); later && name == removedVariable && slices.ContainsFunc(notBefore, v.Refs().Has) {
			return AsUserError(p.hooksPosition().Errorf("cluster.maintenance.hooks: a hook of phase removed reads facts or results, which a host that has left does not have: use host, cluster and variables of the inventory"))
		}
		for _, vars := range given {
			vars.Own[name] = value
			if name == removedVariable && !lang.IsDeferred(value) { // others get the rest when it is computed
				vars.Shared[name] = value
			}
		}
	}
	return nil
}

// notBefore are the variables that a host has during a run only.
var notBefore = []string{"facts", "run", "result", "failure"}

func (p *Project) hooksPosition() strictyaml.Pos {
	return strictyaml.At(p.Inventory.File, findKey(p.Inventory.Cluster, []string{"maintenance", "hooks"}))
}
