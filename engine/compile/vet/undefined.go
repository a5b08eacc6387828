package vet

import (
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// UndefinedNames returns an error for each variable that a task reads and that no host
// has which comes to it. An error is certain to happen in the run: the task has no
// condition, nor has a block around it, and its failure is not ignored. A name that a
// task registers or sets, or that is tested anywhere, counts as known. Errors of
// the template files that tasks render are among them. In a loop that has no items before the
// run, a name is an error when no host has it: the first item would fail.
//
// The program may have errors; doubts are what it does not say then. UndefinedNames returns
// nothing when the inventory lacks Vars, Match or RunHosts.
func UndefinedNames(prog *program.Program, inv Inventory, doubts Doubts) []error {
	if inv.Vars == nil || inv.Match == nil || inv.RunHosts == nil {
		return nil
	}
	u := &undefinedNames{prog: prog, inv: inv, doubts: doubts, vars: map[string]map[string]any{}, inRun: map[string]bool{}, missing: map[string][]string{},
		tested: map[string]bool{}, files: map[*lang.Files]*lang.Files{}, bases: map[string]*lang.Vars{}}
	for _, host := range inv.RunHosts {
		u.inRun[host] = true
	}
	for _, t := range slices.Concat(prog.AllTasks(), doubts.Unreached) {
		for _, refs := range []lang.Refs{t.Refs(), t.WhenRefs(), t.AfterRefs()} {
			for name := range refs.TestedNames() {
				u.tested[name] = true
			}
		}
	}
	for _, op := range prog.Ops {
		for _, b := range []*program.Block{op.Block, op.Ends} {
			if b == nil {
				continue
			}
			for name := range b.Refs().TestedNames() {
				u.tested[name] = true
			}
		}
	}
	left := map[*program.Play]bool{}
	for i, op := range prog.Ops {
		switch {
		case op.Kind == program.OpEndHost:
			left[op.Play] = true // the hosts that continue are not known
		case left[op.Play]:
		case op.Kind == program.OpBlock:
			u.block(op.Block, i)
		case op.Kind == program.OpTask:
			u.task(op.Task, i)
		}
		u.filesMayChange = u.filesMayChange || op.Kind == program.OpTask && writesHere(op.Task) || op.Kind == program.OpFlush && slices.ContainsFunc(op.Play.Handlers, writesHere)
	}
	u.unreached()
	return u.errs
}

// undefinedNames is the state of one check.
type undefinedNames struct {
	prog           *program.Program
	inv            Inventory
	doubts         Doubts
	errs           []error
	vars           map[string]map[string]any // by host
	inRun          map[string]bool           // the hosts of the run
	hosts          map[*program.Play][]string
	missing        map[string][]string // hosts of the run that lack a variable, by variable
	tested         map[string]bool
	files          map[*lang.Files]*lang.Files // the template files as they are on disk now
	bases          map[string]*lang.Vars       // by host, before the run
	evaluations    int                         // of arguments, for maxEvaluations
	filesMayChange bool                        // an earlier task may write template files
}

// hostsAt returns the hosts of the run that certainly reach an operation.
func (u *undefinedNames) hostsAt(p *program.Play, b *program.Block, op int) []string {
	if u.hosts == nil {
		u.hosts = map[*program.Play][]string{}
	}
	hosts, known := u.hosts[p]
	if !known {
		all, _ := u.inv.Match(p.Hosts) // compile has reported the error
		for _, host := range all {
			if u.inRun[host] {
				hosts = append(hosts, host)
			}
		}
		u.hosts[p] = hosts
	}
	for ; b != nil; b = b.Parent {
		if len(b.When) > 0 || b.Rescue > 0 && (b.Always == 0 || op < b.Always) {
			return nil
		}
		if b.OnlyHosts != nil {
			hosts = slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return !b.OnlyHosts[h] })
		}
	}
	return hosts
}

func (u *undefinedNames) block(b *program.Block, op int) {
	s := &useCheck{u: u, scopes: b.Scopes, hosts: u.hostsAt(u.prog.Ops[op].Play, b.Parent, op)}
	if b.OnlyHosts != nil || len(s.hosts) == 0 {
		return
	}
	s.addConditions(b.When)
	if b.Throttle != nil && len(b.When) == 0 {
		s.add(b.Throttle.Refs(), b.Throttle.DefiniteUses())
	}
	if b.Rollout != nil && len(b.When) == 0 {
		s.addConditions(b.Rollout.Exprs())
	}
	s.report(false)
}

func (u *undefinedNames) task(t *program.Task, op int) {
	s := &useCheck{u: u, scopes: t.Scopes, hosts: u.hostsAt(t.Play, t.Block, op), loop: t.Loop}
	if t.IgnoreErrors {
		return
	}
	if len(s.hosts) == 0 || len(t.When) > 0 || t.Loop != nil {
		s.checkTemplateFile(t)
	}
	if len(s.hosts) == 0 {
		return
	}
	if !t.WhenPerItem() {
		s.addConditions(t.When)
	}
	if len(t.When) == 0 {
		s.addTask(t)
	}
	s.report(t.RunOnce)
}

// unreached checks the tasks of includes whose loop has no items.
func (u *undefinedNames) unreached() {
	own := map[string]bool{}
	for _, t := range u.doubts.Unreached {
		for _, name := range t.Defines() {
			own[name] = true
		}
	}
	for _, t := range u.doubts.Unreached {
		s := &useCheck{u: u, scopes: t.Scopes, hosts: u.hostsAt(t.Play, t.Block, 0), loop: t.Loop, nowhere: true, own: own}
		s.checkTemplateFile(t)
		if len(s.hosts) > 0 && len(t.When) == 0 && !t.IgnoreErrors {
			s.addBody(t)
			s.report(t.RunOnce)
		}
	}
}

// has reports whether a host has a variable before the run, or gets it from the engine.
func (u *undefinedNames) has(host, name string) bool {
	switch name {
	case "facts", "run", "result", "failure":
		return true
	}
	_, ok := u.varsOf(host)[name]
	return ok
}

// varsOf returns the variables that a host has before the run.
func (u *undefinedNames) varsOf(host string) map[string]any {
	vars, known := u.vars[host]
	if !known {
		vars = u.inv.Vars(host)
		u.vars[host] = vars
	}
	return vars
}

// without returns the hosts of the run that lack a variable before it.
func (u *undefinedNames) without(name string) []string {
	out, known := u.missing[name]
	if !known {
		out = slices.DeleteFunc(slices.Clone(u.inv.RunHosts), func(host string) bool { return u.has(host, name) })
		u.missing[name] = out
	}
	return out
}
