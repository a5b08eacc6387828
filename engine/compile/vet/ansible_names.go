package vet

import (
	"slices"
	"strings"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// AnsibleName returns an error when an expression reads a variable of Ansible that
// no host has, with its name here; nil when it reads none. definers are the variables
// that tasks give a value.
func AnsibleName(e *lang.Expr, inv Inventory, definers map[string]strictyaml.Pos) error {
	for _, name := range e.Refs().Names() {
		ours, known := lang.AnsibleName(name)
		if !known || !isForeign(name, e.Refs(), inv, definers) {
			continue
		}
		advice := lang.ConditionAdvice(e.Src)
		if advice == "" {
			advice = "; deployer calls it " + ours
		}
		return e.Pos.Errorf("expression %q: unknown name %q%s", e.Src, name, advice)
	}
	return nil
}

// AnsibleNamesInTexts returns an error for each variable of Ansible that a text of a task
// reads and no host has.
func AnsibleNamesInTexts(prog *program.Program, inv Inventory) []error {
	var errs []error
	for _, t := range prog.AllTasks() {
		for _, use := range t.DefiniteUses() {
			if ours, known := lang.AnsibleName(use.Name); known && isForeign(use.Name, t.Refs(), inv, prog.Definers) {
				errs = append(errs, use.Pos.Errorf("%s: unknown name %q; deployer calls it %s", use.Source, use.Name, ours))
			}
		}
	}
	return errs
}

// isForeign reports whether nothing gives a value to a variable that Ansible has.
func isForeign(name string, refs lang.Refs, inv Inventory, definers map[string]strictyaml.Pos) bool {
	if refs.Tested(name) || !strings.HasPrefix(name, "ansible_") && !slices.Contains(reservedByAnsible, name) || someHostHas(name, inv) {
		return false
	}
	_, set := definers[name]
	return !set
}

// reservedByAnsible are names that playbooks do not use for variables of their own.
var reservedByAnsible = []string{"inventory_hostname", "inventory_hostname_short", "hostvars", "group_names", "play_hosts", "omit", "True", "False", "None"}

func someHostHas(name string, inv Inventory) bool {
	if _, extra := inv.Extra[name]; extra || slices.Contains(inv.Promised, name) {
		return true
	}
	return inv.Vars != nil && slices.ContainsFunc(inv.RunHosts, func(host string) bool {
		_, ok := inv.Vars(host)[name]
		return ok
	})
}
