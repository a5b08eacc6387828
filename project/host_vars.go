package project

import (
	"maps"
	"slices"

	"deployer/engine/lang"
	"deployer/inventory"
	"deployer/jsontypes"
	"deployer/strictyaml"
)

// HostVars are the variables of a host in the inventory.
type HostVars struct {
	Own    map[string]any // for tasks of the host itself
	Shared map[string]any // for tasks of other hosts: hosts.NAME.vars
}

// hostVarCompiler returns a compiler of the inventory's variables.
func (p *Project) hostVarCompiler() *lang.HostVarCompiler {
	c := lang.NewHostVarCompiler()
	c.Lookups = p.Lookups
	return c
}

// hostVars returns the variables of the inventory's hosts. Values without expressions
// are shared with other hosts at once; [Variables.ResolveHostVars] computes the others.
func hostVars(inv *inventory.Inventory, compiler *lang.HostVarCompiler) (map[string]HostVars, error) {
	out := map[string]HostVars{}
	var errs error
	reported := map[string]bool{} // error texts: many hosts have a value from the same place
	for _, h := range inv.Hosts {
		vars := HostVars{Own: make(map[string]any, len(h.Vars)), Shared: make(map[string]any, len(h.Vars))}
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
// (hosts.NAME.vars) where their values are expressions: first the expressions that read no
// other host, then the rest. extra are the variables of the command line; a later call with
// others replaces the results of the earlier one.
func (v *Variables) ResolveHostVars(extra map[string]any) {
	extra, _ = jsontypes.Normalize(extra).(map[string]any)
	for _, others := range []bool{false, true} {
		computed := map[string]map[string]any{}
		for host, own := range v.own {
			if v.hosts[host] != nil && slices.ContainsFunc(slices.Collect(maps.Values(own)), lang.IsDeferred) {
				computed[host] = lang.ResolveHostVars(v.ForHost(host), extra, others)
			}
		}
		for host, values := range computed {
			maps.DeleteFunc(v.ofOthers[host], func(name string, _ any) bool { return lang.IsDeferred(v.own[host][name]) })
			maps.Copy(v.ofOthers[host], values)
		}
	}
}
