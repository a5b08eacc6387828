package compile

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine/compile/vet"
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// rawTask holds the keywords of a task as written, and its module.
type rawTask struct {
	rawInherit
	Name         string         `yaml:"name"`
	When         yaml.Node      `yaml:"when"`
	Loop         yaml.Node      `yaml:"loop"`
	LoopControl  rawLoopControl `yaml:"loop_control"`
	Register     string         `yaml:"register"`
	Notify       yaml.Node      `yaml:"notify"`
	Listen       yaml.Node      `yaml:"listen"`
	ChangedWhen  yaml.Node      `yaml:"changed_when"`
	FailedWhen   yaml.Node      `yaml:"failed_when"`
	Retries      *int           `yaml:"retries"`
	Delay        time.Duration  `yaml:"delay"`
	Until        yaml.Node      `yaml:"until"`
	Throttle     yaml.Node      `yaml:"throttle"`
	RunOnce      bool           `yaml:"run_once"`
	Vars         yaml.Node      `yaml:"vars"`
	Tags         yaml.Node      `yaml:"tags"`
	Secret       bool           `yaml:"secret"`
	Barrier      bool           `yaml:"barrier"`
	Label        string         `yaml:"label"`
	Needs        yaml.Node      `yaml:"needs"`
	Block        []yaml.Node    `yaml:"block"`
	Rescue       []yaml.Node    `yaml:"rescue"`
	Always       []yaml.Node    `yaml:"always"`
	Rollout      yaml.Node      `yaml:"rollout"`
	PreTasks     []yaml.Node    `yaml:"pre_tasks"`
	PostTasks    []yaml.Node    `yaml:"post_tasks"`
	IncludeRole  string         `yaml:"include_role"`
	IncludeTasks string         `yaml:"include_tasks"`
	IncludeVars  yaml.Node      `yaml:"include_vars"`
	Meta         string         `yaml:"meta" enum:"flush_handlers,end_host,end_play"`

	module *yaml.Node // the key of the module; nil when there is none
	args   *yaml.Node
	node   *yaml.Node
	set    map[string]*yaml.Node // keyword -> its key
}

// keywords returns the YAML names of a struct's fields.
func keywords(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if t.Field(i).Anonymous {
			out = append(out, keywords(t.Field(i).Type)...)
			continue
		}
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// readTask splits a task into keywords and module, and decodes the keywords. readTask returns nil
// when the task cannot be compiled.
func (c *compiler) readTask(d *lang.Document, n *yaml.Node) *rawTask {
	if n.Kind != yaml.MappingNode {
		c.fail(d.At(n).Errorf("want a task: a mapping with a module such as file: or command:"))
		return nil
	}
	known := keywords(reflect.TypeFor[rawTask]())
	raw := &rawTask{node: n, set: map[string]*yaml.Node{}}
	wrong, guarded := len(c.errs), false // guarded: something that could not be compiled may keep hosts from the task
	words := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		_, isModule := c.lib.Registry[key.Value]
		if !isModule && !slices.Contains(known, key.Value) {
			c.fail(d.At(key).Errorf("%s", c.unknownWord(key.Value, known)))
			ours := cmp.Or(c.deployerWord(key.Value, known), c.meantWord(key.Value, n, known))
			if ours == "" {
				c.checkBelowUnknown(d, value)
				c.lost(value)
				guarded = guarded || mayGuard(key.Value)
				continue
			}
			renamed := *key
			renamed.Value = ours
			key = &renamed
			_, isModule = c.lib.Registry[ours]
		}
		switch {
		case slices.Contains(known, key.Value) && !(isModule && value.Kind == yaml.MappingNode):
			// `block` with a list is the keyword, with a mapping the module.
			if advice, ok := ansibleMetaActions[value.Value]; ok && key.Value == "meta" {
				c.fail(d.At(value).Errorf("meta: there is no %s: %s", value.Value, advice))
				return nil
			}
			words.Content = append(words.Content, key, c.shortIncludeForm(d, key, value))
			raw.set[key.Value] = key
		case raw.module != nil:
			c.fail(d.At(key).Errorf("a task can have one module only, and this one has %s and %s", raw.module.Value, key.Value))
			return nil
		default:
			raw.module, raw.args = key, value
		}
	}
	if err := strictyaml.DecodeAs(d.Name, "task", words, raw); err != nil {
		c.fail(err)
		c.lost(words)
		guarded = guarded || raw.set["ignore_errors"] != nil && raw.IgnoreErrors == nil
	}
	if guarded && isNull(&raw.When) {
		raw.When = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "true", Line: n.Line, Column: n.Column}
	}
	if len(raw.forms()) == 0 && len(c.errs) > wrong {
		c.checkUnknownTask(d, raw)
		return nil
	}
	return raw
}

// unknownWord returns the error for a key of a task that is neither a keyword nor a module.
// Modules of Ansible may have the name of a collection: ansible.builtin.copy.
func (c *compiler) unknownWord(word string, keywords []string) string {
	bare := word
	if parts := strings.Split(word, "."); len(parts) == 3 {
		bare = parts[2]
	}
	advice, isKeyword := ansibleTaskKeywords[bare]
	ours, isModule := c.lib.Renamed[bare]
	if isKeyword || isModule || bare != word {
		c.ansibleWords = append(c.ansibleWords, word)
	}
	if isKeyword {
		return fmt.Sprintf("unknown task keyword or module %q: %s", word, advice)
	}
	if isModule {
		return fmt.Sprintf("unknown task keyword or module %q: deployer calls it %s", word, ours)
	}
	all := append(slices.Clone(keywords), c.lib.Registry.Names()...)
	if bare != word && slices.Contains(all, bare) {
		return fmt.Sprintf("unknown task keyword or module %q: write %s; there are no collections here", word, bare)
	}
	if s := strictyaml.Hint(bare, all); s != "" || bare == word {
		return fmt.Sprintf("unknown task keyword or module %q%s", word, s)
	}
	return fmt.Sprintf("unknown task keyword or module %q; deployer doc lists the modules, and command runs any program", word)
}

// forms returns the forms of the task: its module, block, an include or meta. A valid task
// has one form.
func (r *rawTask) forms() []string {
	var out []string
	if r.module != nil {
		out = append(out, r.module.Value)
	}
	for _, word := range []string{"block", "include_role", "include_tasks", "include_vars", "meta"} {
		if r.set[word] != nil {
			out = append(out, word)
		}
	}
	return out
}

// rejectKeywords records an error for each keyword that the form of task does not accept,
// and reports whether there was none.
func (c *compiler) rejectKeywords(d *lang.Document, r *rawTask, form string, allowed ...string) bool {
	ok := true
	for _, word := range slices.Sorted(maps.Keys(r.set)) {
		if word != form && !slices.Contains(allowed, word) {
			c.fail(d.At(r.set[word]).Errorf("%s does not take %q", form, word))
			ok = false
		}
	}
	return ok
}

// texts returns a text, or the elements of a list of texts.
func (c *compiler) texts(d *lang.Document, n *yaml.Node, what string) []*yaml.Node {
	switch {
	case n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	case n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, notScalar):
		return n.Content
	}
	c.fail(d.At(n).Errorf("%s: want a text or a list of texts", what))
	return nil
}

func notScalar(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }

// conditions compiles an expression or a list of expressions, all of which must hold.
func (c *compiler) conditions(d *lang.Document, n *yaml.Node, what string) []*lang.Expr {
	var out []*lang.Expr
	texts := c.texts(d, n, what)
	if texts == nil && !isNull(n) {
		return []*lang.Expr{unknownCondition(d.At(n))}
	}
	for _, t := range texts {
		e, err := lang.CompileExpr(t.Value, d.Origin(t))
		if err != nil {
			c.fail(err)
			out = append(out, unknownCondition(d.At(t)))
			continue
		}
		c.fail(vet.AnsibleName(e, c.inventory(), c.prog.Definers))
		out = append(out, e)
	}
	return out
}
