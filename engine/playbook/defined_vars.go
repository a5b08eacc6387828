package playbook

import (
	"reflect"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Defines are the names that later tasks of the host know when the task has run:
// the one that it registers, or those that it sets.
func (t *Task) Defines() []string {
	if t.Register != "" {
		return []string{t.Register}
	}
	return t.Sets
}

// definedField is the argument whose keys become variables; empty when the kind
// of task has none.
func definedField(t reflect.Type) string { return taggedField(t, "defines") }

// variable is what conditions and templates can look at by its name.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// collectSets notes which variables the task gives to later ones. They are known before
// the run, so that each task knows what it waits for. With register the values are
// fields of that one name.
func (c *compiler) collectSets(d *document, t *Task, args *yaml.Node) {
	field := definedField(reflect.TypeOf(t.Kind.New()))
	if field == "" || t.Register != "" {
		return
	}
	values := valueOf(args, field)
	if values == args || values.Kind != yaml.MappingNode && !isTemplate(values.Value) {
		return // decoding says what is wrong
	}
	if values.Kind != yaml.MappingNode {
		c.fail(d.at(values).Errorf("%s: names are written out, so that it is known what sets them; a mapping that is computed stands below one: %[1]s: {NAME: ...}", t.Kind.Name))
		return
	}
	for i := 0; i < len(values.Content); i += 2 {
		key := values.Content[i]
		switch {
		case slices.Contains(Reserved(), key.Value):
			c.fail(d.at(key).Errorf("the variable %q belongs to the engine; choose another name", key.Value))
		case !variable.MatchString(key.Value):
			c.fail(d.at(key).Errorf("%q cannot be the name of a variable: use letters, digits and _, beginning with a letter; a mapping may have any keys: %s: {NAME: {%[1]q: ...}}", key.Value, t.Kind.Name))
		default:
			t.Sets = append(t.Sets, key.Value)
		}
	}
}

// firstDefiners are the places that give a variable a value in the run, by its name:
// the first of each.
func (c *compiler) firstDefiners() map[string]strictyaml.Pos {
	out := map[string]strictyaml.Pos{}
	for _, t := range c.allTasks() {
		for _, name := range t.Defines() {
			if _, known := out[name]; !known {
				out[name] = t.Pos
			}
		}
	}
	return out
}
