package playbook

import "slices"

// undefined finds variables that no host has which looks at them, before any is
// contacted. It reports what would be an error in any case: the task has no
// condition, nor has what it stands in, and its failure would be one. A name that
// a task registers or sets, or that is tested anywhere, is taken to be there.
// What it finds wrong with template files is said here too.
func (c *compiler) undefined() {
	if c.lib.Vars == nil || c.lib.Match == nil || c.lib.RunHosts == nil || len(c.errs) > 0 {
		return // what is wrong may stand where a name gets its value
	}
	u := &undefinedNames{compiler: c, vars: map[string]map[string]any{}, inRun: map[string]bool{}, missing: map[string][]string{},
		tested: map[string]bool{}, files: map[*Files]*Files{}, bases: map[string]*Vars{}}
	for _, host := range c.lib.RunHosts {
		u.inRun[host] = true
	}
	for _, t := range c.allTasks() {
		for _, refs := range []Refs{t.refs, t.whenRefs, t.afterRef} {
			for name := range refs.tested {
				u.tested[name] = true
			}
		}
	}
	for _, op := range c.prog.Ops {
		for _, b := range []*Block{op.Block, op.Ends} {
			if b == nil {
				continue
			}
			for name := range b.refs.tested {
				u.tested[name] = true
			}
		}
	}
	left := map[*Play]bool{}
	for i, op := range c.prog.Ops {
		switch {
		case op.Kind == OpEndHost:
			left[op.Play] = true // who comes further is not known
		case left[op.Play]:
		case op.Kind == OpBlock:
			u.block(op.Block, i)
		case op.Kind == OpTask:
			u.task(op.Task, i)
		}
		u.filesMayChange = u.filesMayChange || op.Kind == OpTask && writesHere(op.Task) || op.Kind == OpFlush && slices.ContainsFunc(op.Play.Handlers, writesHere)
	}
}

type undefinedNames struct {
	*compiler
	vars           map[string]map[string]any // by host
	inRun          map[string]bool           // the hosts of the run
	hosts          map[*Play][]string
	missing        map[string][]string // hosts of the run, by variable
	tested         map[string]bool
	files          map[*Files]*Files // with what the template files are now
	bases          map[string]*Vars  // by host, before the run
	filesMayChange bool              // a task has come that may write template files
}

// hostsAt are the hosts of the run that come to an operation in any case.
func (u *undefinedNames) hostsAt(p *Play, b *Block, op int) []string {
	if u.hosts == nil {
		u.hosts = map[*Play][]string{}
	}
	hosts, known := u.hosts[p]
	if !known {
		all, _ := u.lib.Match(p.Hosts) // an error was said already
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

func (u *undefinedNames) block(b *Block, op int) {
	s := &useCheck{u: u, scopes: b.Scopes, hosts: u.hostsAt(u.prog.Ops[op].Play, b.Parent, op)}
	if b.OnlyHosts != nil || len(s.hosts) == 0 {
		return
	}
	s.addConditions(b.When)
	if b.Throttle != nil && len(b.When) == 0 {
		s.add(b.Throttle.refs, b.Throttle.definite)
	}
	if b.Rollout != nil && len(b.When) == 0 {
		s.addConditions(b.Rollout.exprs())
	}
	s.report(false)
}

func (u *undefinedNames) task(t *Task, op int) {
	s := &useCheck{u: u, scopes: t.Scopes, hosts: u.hostsAt(t.Play, t.Block, op), loop: t.Loop}
	if t.IgnoreErrors || len(s.hosts) == 0 {
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

// has tells whether a host has a variable before the run, or gets it from the
// engine.
func (u *undefinedNames) has(host, name string) bool {
	switch name {
	case "facts", "run", "result", "failure":
		return true
	}
	_, ok := u.varsOf(host)[name]
	return ok
}

// varsOf are the variables that a host has before the run.
func (u *undefinedNames) varsOf(host string) map[string]any {
	vars, known := u.vars[host]
	if !known {
		vars = u.lib.Vars(host)
		u.vars[host] = vars
	}
	return vars
}

// without are the hosts of the run that do not have a variable before it.
func (u *undefinedNames) without(name string) []string {
	out, known := u.missing[name]
	if !known {
		out = slices.DeleteFunc(slices.Clone(u.lib.RunHosts), func(host string) bool { return u.has(host, name) })
		u.missing[name] = out
	}
	return out
}
