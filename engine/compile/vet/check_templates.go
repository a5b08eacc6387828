package vet

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/taskargs"
	"deployer/jsontypes"
	"deployer/strictyaml"
)

// checkTemplates checks the template file that the task renders, where its name is known
// before the run.
func (s *useCheck) checkTemplates(t *program.Task) {
	src := t.Args.TemplateFile(reflect.TypeOf(t.Kind.New()))
	if src == nil || s.u.filesMayChange {
		return
	}
	files := s.filesOf(t, src)
	if t.RunOnce && len(files) > 1 {
		return // any of the hosts may execute the task
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		by := fmt.Sprintf(" (the task at %s renders it)", t.Pos)
		tpl, err := s.u.template(t.Files, name)
		if err != nil {
			s.u.errs = append(s.u.errs, s.templateError(t, src, err))
			continue
		}
		in := &useCheck{u: s.u, scopes: s.scopes, hosts: files[name], loop: s.loop, tested: tpl.Refs(), nowhere: s.nowhere, own: s.own}
		in.add(tpl.Refs(), nil)
		for _, one := range tpl.DefiniteUses() {
			one.User = by
			in.uses = append(in.uses, one)
		}
		in.report(t.RunOnce)
	}
}

// checkTemplateFile reports a template file that cannot be parsed, for a task that only some
// hosts or no host may execute, and one that does not exist, unless a condition may be there for
// that. Its variables are not known to be read.
func (s *useCheck) checkTemplateFile(t *program.Task) {
	if t.Args == nil || s.u.filesMayChange {
		return
	}
	src := t.Args.TemplateFile(reflect.TypeOf(t.Kind.New()))
	if src == nil || src.Text != nil {
		return
	}
	_, err := s.u.template(t.Files, src.Name)
	conditional := len(t.When) > 0 || len(s.hosts) == 0
	if broken := errors.As(err, new(*strictyaml.Error)); err != nil && (broken || !conditional) {
		s.u.errs = append(s.u.errs, s.templateError(t, src, err))
	}
}

// templateError returns the error of a template file, with the task that renders it.
func (s *useCheck) templateError(t *program.Task, src *taskargs.TemplateFile, err error) error {
	at := (*strictyaml.Error)(nil)
	if !errors.As(err, &at) {
		return src.Pos.Errorf("%v", err)
	}
	withContext := *at
	withContext.Msg += fmt.Sprintf(" (the task at %s renders it)", t.Pos)
	return &withContext
}

// template returns a template file as it is on disk now. The run reads it again: the
// file is not part of the content that a plan or a resumed run is bound to.
func (u *undefinedNames) template(f *lang.Files, name string) (*lang.Template, error) {
	now := u.files[f]
	if now == nil {
		now = f.FromDisk()
		u.files[f] = now
	}
	return now.Template(name)
}

// filesOf returns the names of the files that the task renders, each with its hosts. Names
// that only the run can compute are left out.
func (s *useCheck) filesOf(t *program.Task, src *taskargs.TemplateFile) map[string][]string {
	if src.Text == nil {
		return map[string][]string{src.Name: s.hosts}
	}
	var refs lang.Refs
	refs.Merge(src.Text.Refs())
	if perItem(t, src.Text) {
		refs.Merge(t.Loop.Refs)
	}
	if !s.knownBeforeRun(refs) {
		return nil
	}
	out := map[string][]string{}
	for _, host := range s.hosts {
		for _, name := range s.u.namesFor(host, t, src.Text) {
			if list := out[name]; len(list) == 0 || list[len(list)-1] != host {
				out[name] = append(list, host)
			}
		}
	}
	return out
}

// knownBeforeRun reports whether all variables in refs have their values before the run.
func (s *useCheck) knownBeforeRun(refs lang.Refs) bool {
	refs = lang.Closure(s.scopes, refs)
	return !refs.All() && !slices.ContainsFunc(refs.Names(), func(name string) bool {
		switch name {
		case "facts", "run", "result", "failure":
			return true
		}
		_, set := s.u.prog.Definers[name]
		_, extra := s.u.inv.Extra[name]
		return set || !extra && s.u.doubts.mayHave(name) || !extra && (slices.Contains(s.u.inv.Promised, name) || s.u.prog.IsPrompted(name))
	})
}

// namesFor returns the values of a text on a host, one for each item of a loop; nothing
// when the text cannot be evaluated, which is reported elsewhere.
func (u *undefinedNames) namesFor(host string, t *program.Task, text *lang.Interpolation) []string {
	vars := u.varsBeforeRun(host)
	items := []any{nil}
	if perItem(t, text) {
		var err error
		if items, err = t.Items(vars); err != nil {
			return nil
		}
	}
	var out []string
	for i, item := range items {
		mark := vars.Depth()
		if perItem(t, text) {
			t.Loop.SetItem(vars, i, item)
		}
		if err := vars.PushScope(t.Scopes, text.Refs()); err == nil {
			if name, err := text.Text(vars.Map()); err == nil {
				out = append(out, name)
			}
		}
		vars.PopTo(mark)
	}
	return out
}

func perItem(t *program.Task, text *lang.Interpolation) bool {
	return t.Loop != nil && t.Loop.PerItem(lang.Closure(t.Scopes, text.Refs()))
}

// varsBeforeRun returns the variables of a host before the run.
func (u *undefinedNames) varsBeforeRun(host string) *lang.Vars {
	vars := u.bases[host]
	if vars == nil {
		fixed := map[string]any{}
		for name, value := range u.inv.Extra {
			fixed[name] = jsontypes.Normalize(value)
		}
		vars = lang.NewVars(u.varsOf(host), fixed)
		vars.HoldLookups()
		u.bases[host] = vars
	}
	return vars
}

// writesHere reports whether a task may write files on the machine that deployer runs on:
// template files there may differ when the run reads them.
func writesHere(t *program.Task) bool {
	return t.Delegate != nil && t.Delegate.MayBe(program.Localhost) && !t.ReadOnly()
}
