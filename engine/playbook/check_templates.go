package playbook

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// checkTemplates looks into the template file that the task renders, where it can be
// known before the run which one that is.
func (s *useCheck) checkTemplates(t *Task) {
	src := t.Args.root.at(templateArgument(reflect.TypeOf(t.Kind.New())))
	if src == nil || s.u.filesMayChange {
		return
	}
	files := s.filesOf(t, src)
	if t.RunOnce && len(files) > 1 {
		return // it is not known who does it
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		by := fmt.Sprintf(" (the task at %s renders it)", t.Pos)
		tpl, err := s.u.template(t.files, name)
		if at := (*strictyaml.Error)(nil); errors.As(err, &at) {
			said := *at
			said.Msg += by
			s.u.fail(&said)
			continue
		} else if err != nil {
			s.u.fail(t.Args.doc.at(src.node).Errorf("%v", err))
			continue
		}
		in := &useCheck{u: s.u, scopes: s.scopes, hosts: files[name], loop: s.loop, tested: tpl.refs.tested}
		in.add(tpl.refs, nil)
		for _, one := range tpl.definite {
			one.by = by
			in.uses = append(in.uses, one)
		}
		in.report(t.RunOnce)
	}
}

// template is a file as it is now. The run reads it again when it gets there: what
// is read here is no part of what the run was made from.
func (u *undefinedNames) template(f *Files, name string) (*Template, error) {
	now := u.files[f]
	if now == nil {
		places := slices.Clone(f.searchDirs)
		for i, p := range places {
			if p.tree.Dir != "" {
				places[i].tree.FS = os.DirFS(p.tree.Dir)
			}
		}
		now = newFiles(f.owner, u.funcs, places...)
		u.files[f] = now
	}
	return now.Template(name)
}

// filesOf are the names of the files that the task renders, with the hosts that do.
// Those that only the run finds out are left out.
func (s *useCheck) filesOf(t *Task, src *argNode) map[string][]string {
	if src.node.Kind != yaml.ScalarNode {
		return nil
	}
	if src.text == nil {
		return map[string][]string{src.node.Value: s.hosts}
	}
	var refs Refs
	refs.merge(src.text.refs)
	if perItem(t, src.text) {
		refs.merge(t.Loop.refs)
	}
	if !s.knownBeforeRun(refs) {
		return nil
	}
	out := map[string][]string{}
	for _, host := range s.hosts {
		for _, name := range s.u.namesFor(host, t, src.text) {
			if list := out[name]; len(list) == 0 || list[len(list)-1] != host {
				out[name] = append(list, host)
			}
		}
	}
	return out
}

// knownBeforeRun tells whether all that is looked at is known before the run.
func (s *useCheck) knownBeforeRun(refs Refs) bool {
	refs = closure(s.scopes, refs)
	return !refs.all && !slices.ContainsFunc(refs.Names(), func(name string) bool {
		switch name {
		case "facts", "run", "result", "failure":
			return true
		}
		_, set := s.u.defined[name]
		_, extra := s.u.lib.Extra[name]
		return set || !extra && (slices.Contains(s.u.lib.Promised, name) || s.u.isPrompted(name))
	})
}

// namesFor are the names that a text has on a host, of a loop one for each item;
// none where it cannot be computed, which is said elsewhere.
func (u *undefinedNames) namesFor(host string, t *Task, text *Interpolation) []string {
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
			t.Loop.Push(vars, i, item)
		}
		if err := vars.PushScope(t.Scopes, text.refs); err == nil {
			if name, err := text.Text(vars.values); err == nil {
				out = append(out, name)
			}
		}
		vars.PopTo(mark)
	}
	return out
}

func perItem(t *Task, text *Interpolation) bool {
	return t.Loop != nil && t.Loop.perItem(closure(t.Scopes, text.refs))
}

// varsBeforeRun are the variables of a host before the run.
func (u *undefinedNames) varsBeforeRun(host string) *Vars {
	vars := u.bases[host]
	if vars == nil {
		fixed := map[string]any{}
		for name, value := range u.lib.Extra {
			fixed[name] = Normalize(value)
		}
		vars = NewVars(u.varsOf(host), fixed)
		u.bases[host] = vars
	}
	return vars
}

// writesHere tells whether a task may make files on the machine that deployer runs
// on: template files among them are not what they are now.
func writesHere(t *Task) bool {
	return t.Delegate != nil && t.Delegate.MayBe(Localhost) && !t.ReadOnly()
}

// templateArgument leads to the argument that names a template file of the role: the
// one with the tag template:"true", maybe in an argument that is a mapping. nil when
// the kind of task has none.
func templateArgument(t reflect.Type) []string {
	t = deref(t)
	if name := taggedField(t, "template"); name != "" {
		return []string{name}
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		if inner := taggedField(f.Type, "template"); inner != "" {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			return []string{name, inner}
		}
	}
	return nil
}
