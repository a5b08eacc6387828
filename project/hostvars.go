package project

import (
	"deployer/engine/playbook"
	"deployer/inventory"
	"deployer/roles"
	"deployer/strictyaml"
)

// hostVars are the variables of the inventory, whose texts may have templates. What
// other hosts are told of these is computed later; see Tell.
func hostVars(inv *inventory.Inventory) (map[string]roles.HostVars, error) {
	out, values := map[string]roles.HostVars{}, playbook.NewHostVarCompiler()
	var errs error
	told := map[string]bool{} // errors: many hosts have a value from the same place
	for _, h := range inv.Hosts {
		vars := roles.HostVars{Own: make(map[string]any, len(h.Vars)), Told: make(map[string]any, len(h.Vars))}
		for name, raw := range h.Vars {
			value, err := values.Compile(raw, func() strictyaml.Pos { return inv.VarPos(h.Name, name) })
			if err != nil {
				if !told[err.Error()] {
					told[err.Error()], errs = true, strictyaml.Join(errs, err)
				}
				continue
			}
			vars.Own[name] = value
			if !playbook.IsDeferred(value) {
				vars.Told[name] = value
			}
		}
		out[h.Name] = vars
	}
	return out, errs
}

// Tell computes what hosts are told of each other's variables that have templates,
// with extra, those of the command line. It is called whenever these are known anew.
func Tell(v *roles.Variables, extra map[string]any) {
	extra, _ = playbook.Normalize(extra).(map[string]any)
	v.Tell(playbook.IsDeferred, func(base map[string]any, others bool) map[string]any { return playbook.ResolveHostVars(base, extra, others) })
}
