package convert

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/ansible/jinja"
)

// Knowledge is what the files of a project say about its variables. Translations depend on
// it: Ansible prints true as True.
type Knowledge struct {
	kinds Kinds
	// results are names of registered results and of the items of loops.
	results map[string]bool
	unsure  map[string]bool
}

// NewKnowledge returns an empty one.
func NewKnowledge() *Knowledge {
	return &Knowledge{results: map[string]bool{"item": true}, unsure: map[string]bool{}}
}

// Expressions returns a translator of expressions that knows the variables.
func (k *Knowledge) Expressions(needsDot func(string) bool) jinja.Translator {
	return jinja.Translator{NeedsDot: needsDot, KindOf: k.kinds.Of, Printed: func(name string) {
		if !k.results[name] && !k.kinds.has(name) && jinja.IsVariable(name) {
			k.unsure[name] = true
		}
	}}
}

// Unsure returns the variables, sorted, that a translated text contains and for which no
// file has a value.
func (k *Knowledge) Unsure() []string { return slices.Sorted(maps.Keys(k.unsure)) }

// Learn adds the variables of a file; the name decides about its kind, as for
// [Translator.File]. A file that is no YAML adds nothing.
func (k *Knowledge) Learn(name string, data []byte) {
	sort := kindOf(name)
	if sort == other || sort == templated {
		return
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil || len(doc.Content) == 0 {
		return
	}
	if sort == vars {
		k.kinds.Add(doc.Content[0])
		return
	}
	k.learn(doc.Content[0])
}

// learn adds the variables of plays and tasks.
func (k *Knowledge) learn(n *yaml.Node) {
	each(n, func(key, value *yaml.Node) {
		switch bare(key.Value) {
		case "vars", "set_fact":
			if value.Kind == yaml.MappingNode {
				k.kinds.Add(value)
			}
		case "register", "loop_var", "index_var":
			k.results[value.Value] = true
		}
	})
	for _, c := range n.Content {
		k.learn(c)
	}
}
