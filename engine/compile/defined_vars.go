package compile

import (
	"reflect"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/taskargs"
)

// variable matches the names by which expressions and templates can read a variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// collectSets records the variables that the task gives to later ones. The variables are known
// before the run, so that each task knows what it waits for. With register, the values are
// fields of the registered name.
func (c *compiler) collectSets(d *lang.Document, t *program.Task, args *yaml.Node) {
	field := taskargs.DefinedField(reflect.TypeOf(t.Kind.New()))
	if field == "" || t.Register != "" {
		return
	}
	values := lang.MappingValue(args, field)
	if values == args || values.Kind != yaml.MappingNode && !lang.IsTemplate(values.Value) {
		return // decoding reports the error
	}
	if values.Kind != yaml.MappingNode {
		c.fail(d.At(values).Errorf("%s: names must be written out; put a computed mapping below a name: %[1]s: {NAME: ...}", t.Kind.Name))
		c.lostFile()
		return
	}
	for i := 0; i < len(values.Content); i += 2 {
		key := values.Content[i]
		switch {
		case slices.Contains(lang.Reserved(), key.Value):
			c.fail(d.At(key).Errorf("the variable %q belongs to the engine; choose another name", key.Value))
		case !variable.MatchString(key.Value):
			c.fail(d.At(key).Errorf("%q cannot be the name of a variable: use letters, digits and _, beginning with a letter; a mapping may have any keys: %s: {NAME: {%[1]q: ...}}", key.Value, t.Kind.Name))
		default:
			t.Sets = append(t.Sets, key.Value)
		}
	}
}
