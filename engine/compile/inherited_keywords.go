package compile

import (
	"reflect"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// rawInherit holds the keywords that plays, roles, blocks, includes and tasks share. A task
// inherits them unless it has its own.
type rawInherit struct {
	IgnoreErrors *bool          `yaml:"ignore_errors"`
	Timeout      *time.Duration `yaml:"timeout"`
	DelegateTo   yaml.Node      `yaml:"delegate_to"`
	Become       *bool          `yaml:"become"`
	BecomeUser   yaml.Node      `yaml:"become_user"`
	Environment  yaml.Node      `yaml:"environment"`
}

func inheritable() []string { return keywords(reflect.TypeFor[rawInherit]()) }

// inherited holds the inherited keywords, compiled. Nil stands for a missing keyword.
type inherited struct {
	ignoreErrors *bool
	timeout      *time.Duration
	delegate     *lang.Text
	become       *bool
	user         *lang.Text
	env          []*lang.Value // outer ones first
}

// inheritedOf compiles the inherited keywords of the mapping n.
func (c *compiler) inheritedOf(d *lang.Document, n *yaml.Node, raw *rawInherit) inherited {
	l := inherited{ignoreErrors: raw.IgnoreErrors, timeout: raw.Timeout, delegate: c.text(d, &raw.DelegateTo, "delegate_to"),
		become: raw.Become, user: c.text(d, &raw.BecomeUser, "become_user")}
	if env := c.environment(d, &raw.Environment); env != nil {
		l.env = []*lang.Value{env}
	}
	if l.user != nil && l.become != nil && !*l.become {
		c.fail(l.user.Pos.Errorf("become_user has no effect with become: false; remove one of them"))
	}
	if l.timeout != nil && *l.timeout < 0 {
		c.fail(d.KeyPos(n, "timeout").Errorf("timeout cannot be negative"))
	}
	if l.delegate != nil {
		c.knownDelegate(l.delegate)
	}
	return l
}

// timeLimit returns the time limit of one try of a task: its own or an inherited one, or
// else that of its kind. 0 is no limit.
func (c *compiler) timeLimit(own *time.Duration, raw *rawTask) time.Duration {
	if own != nil {
		return *own
	}
	return c.lib.Registry[raw.module.Value].EffectiveTimeLimit()
}

// over returns l with the keywords of outer that l lacks.
func (l inherited) over(outer inherited) inherited {
	if l.ignoreErrors == nil {
		l.ignoreErrors = outer.ignoreErrors
	}
	if l.timeout == nil {
		l.timeout = outer.timeout
	}
	if l.delegate == nil {
		l.delegate = outer.delegate
	}
	if l.become == nil && l.user == nil { // become_user implies become
		l.become = outer.become
	}
	if l.user == nil {
		l.user = outer.user
	}
	l.env = slices.Concat(outer.env, l.env)
	return l
}

// knownDelegate checks the name of a host that is a constant.
func (c *compiler) knownDelegate(t *lang.Text) {
	name, constant := t.Constant()
	switch {
	case !constant:
	case name == "":
		c.fail(t.Pos.Errorf("delegate_to: name a host"))
	case c.lib.Hosts != nil && name != program.Localhost && !slices.Contains(c.lib.Hosts, name):
		c.fail(t.Pos.Errorf("delegate_to: the inventory has no host %q%s", name, strictyaml.Hint(name, append(slices.Clone(c.lib.Hosts), program.Localhost))))
	}
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
