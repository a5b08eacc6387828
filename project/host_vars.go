package project

import (
	"deployer/engine/lang"
	"deployer/inventory"
	"deployer/jsontypes"
	"deployer/roles"
	"deployer/strictyaml"
)

// hostVars returns the variables of the inventory's hosts. Values without expressions
// are shared with other hosts at once; [ResolveHostVars] computes the others.
func hostVars(inv *inventory.Inventory) (map[string]roles.HostVars, error) {
	out, compiler := map[string]roles.HostVars{}, lang.NewHostVarCompiler()
	var errs error
	reported := map[string]bool{} // error texts: many hosts have a value from the same place
	for _, h := range inv.Hosts {
		vars := roles.HostVars{Own: make(map[string]any, len(h.Vars)), Shared: make(map[string]any, len(h.Vars))}
		for name, raw := range h.Vars {
			value, err := compiler.Compile(raw, func() strictyaml.Pos { return inv.VarPos(h.Name, name) })
			if err != nil {
				if !reported[err.Error()] {
					reported[err.Error()], errs = true, strictyaml.Join(errs, err)
				}
				continue
			}
			vars.Own[name] = value
			if !lang.IsDeferred(value) {
				vars.Shared[name] = value
			}
		}
		out[h.Name] = vars
	}
	return out, errs
}

// ResolveHostVars computes the variables that each host may read of the others
// (hosts.NAME.vars) where their values are expressions. extra are the variables of the
// command line; a later call with others replaces the results of the earlier one.
func ResolveHostVars(v *roles.Variables, extra map[string]any) {
	extra, _ = jsontypes.Normalize(extra).(map[string]any)
	v.ResolveShared(lang.IsDeferred, func(base map[string]any, others bool) map[string]any {
		return lang.ResolveHostVars(base, extra, others)
	})
}
