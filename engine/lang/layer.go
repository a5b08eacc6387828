package lang

import "slices"

// Scope is a set of variables of one layer: of a play, a role, a block or a task.
type Scope struct {
	Layer Layer
	Vars  map[string]*Value
	Names []string
}

// Layer is the rank of the variables of a scope, in the order of Ansible: a task sees the
// value of the highest layer that has the variable, within a layer the innermost scope's.
type Layer int

// The layers. Variables of the inventory and those that tasks set have no scopes: they stand
// between these.
const (
	RoleDefaults Layer = iota
	inventoryVars
	PlayVars // vars and vars_files
	RoleVars // vars/main.yaml
	TaskVars // of blocks and tasks
	setByTasks
	Parameters // of roles and includes
	LoopItems  // of loops at includes
)

// ValueOverInventory returns the value of a variable in the layers that win over the
// inventory; nil when none of them has it. set is true when a task has given the host a value:
// then only the layers above count.
func ValueOverInventory(scopes []*Scope, name string, set bool) *Value {
	if set {
		return highest(scopes, name, setByTasks)
	}
	return highest(scopes, name, inventoryVars)
}

// DefaultValue returns the value of a variable that the defaults of roles give to hosts
// without another one; nil when there is none.
func DefaultValue(scopes []*Scope, name string) *Value {
	return highest(scopes, name, RoleDefaults-1)
}

// HiddenByScopes reports whether a layer has a variable that wins over the inventory's.
func HiddenByScopes(scopes []*Scope, name string) bool {
	return ValueOverInventory(scopes, name, false) != nil
}

// highest returns the value of a variable in the highest layer above the given one; of several
// scopes of that layer, in the innermost.
func highest(scopes []*Scope, name string, above Layer) *Value {
	var out *Value
	for _, s := range slices.Backward(scopes) {
		if value := s.Vars[name]; value != nil && s.Layer > above {
			out, above = value, s.Layer
		}
	}
	return out
}
