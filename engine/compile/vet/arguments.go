package vet

import (
	"errors"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// maxEvaluations bounds the arguments that are evaluated before a run, for large clusters: the
// run checks all of them again before it sends them.
const maxEvaluations = 20000

// checkArguments evaluates arguments whose variables are all known before the run, on the hosts
// that certainly reach the task, and reports values that the rules of the arguments refuse. A
// variable that cannot be evaluated is reported elsewhere.
func (s *useCheck) checkArguments(t *program.Task) {
	if !t.Args.Templated() || t.Secret || s.u.doubts.Args[t] {
		return // the error of a secret task would show the value
	}
	refs := t.Args.Refs()
	perItem := t.Loop != nil && t.Loop.PerItem(lang.Closure(t.Scopes, refs))
	if perItem {
		refs.Merge(t.Loop.Refs)
	}
	if !s.knownBeforeRun(refs) {
		return
	}
	for _, host := range s.hosts {
		if s.u.evaluations >= maxEvaluations {
			return
		}
		if err := s.u.argumentError(host, t, perItem); err != nil {
			s.u.errs = append(s.u.errs, err)
			return // other hosts have the same error, or show theirs next time
		}
	}
}

// argumentError returns the first error of a task's arguments on a host, for each item of the
// task's loop.
func (u *undefinedNames) argumentError(host string, t *program.Task, perItem bool) error {
	vars := u.varsBeforeRun(host)
	items := []any{nil}
	if perItem {
		var err error
		if items, err = t.Items(vars); err != nil {
			items = nil // reported where names are
		}
	}
	for i, item := range items {
		u.evaluations++
		if err := u.itemError(host, t, vars, func() {
			if perItem {
				t.Loop.SetItem(vars, i, item)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (u *undefinedNames) itemError(host string, t *program.Task, vars *lang.Vars, setItem func()) error {
	defer vars.PopTo(vars.Depth())
	setItem()
	if err := vars.PushScope(t.Scopes, t.Args.Refs()); err != nil {
		return nil
	}
	_, err := t.BuildArgs(vars)
	var refused strictyaml.Errors
	switch {
	case errors.As(err, &refused):
		withHost := *refused[0]
		withHost.Msg += " (on " + host + ")"
		return &withHost
	case errors.As(err, new(*engine.ArgumentError)):
		return t.Pos.Errorf("%s: %v (on %s)", t.Kind.Name, err, host)
	}
	return nil
}
