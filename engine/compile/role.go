package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// role is a role as loaded from its files.
type role struct {
	name     string
	tree     lang.Tree
	files    *lang.Files
	defaults *lang.Scope
	vars     *lang.Scope
	tasks    *lang.Document
	handlers *lang.Document
	uses     []roleUse // dependencies
}

// roleUse is one mention of a role in a play, a task or another role.
type roleUse struct {
	name string
	pos  strictyaml.Pos
	vars *lang.Scope
	when []*lang.Expr
	tags []string
	// params is true when the mention sets variables: it is then compiled although the role
	// is in the play already.
	params    bool
	inherited inherited
	only      map[string]bool // see Block.Only
}

type rawUse struct {
	rawInherit
	Role string    `yaml:"role" required:"true"`
	Vars yaml.Node `yaml:"vars"`
	When yaml.Node `yaml:"when"`
	Tags yaml.Node `yaml:"tags"`
}

func (c *compiler) uses(d *lang.Document, n *yaml.Node, what string) []roleUse {
	var out []roleUse
	for _, e := range c.list(d, n, what) {
		if e.Kind == yaml.ScalarNode {
			out = append(out, roleUse{name: e.Value, pos: d.At(e)})
			continue
		}
		var raw rawUse
		if err := strictyaml.DecodeAs(d.Name, what, e, &raw); err != nil {
			c.fail(err)
			c.lostFile()
			continue
		}
		vars := c.params(d, &raw.Vars)
		out = append(out, roleUse{name: raw.Role, pos: d.KeyPos(e, "role"), vars: vars, params: vars != nil,
			when: c.conditions(d, &raw.When, "when"), tags: c.tags(d, &raw.Tags), inherited: c.inheritedOf(d, e, &raw.rawInherit)})
	}
	return out
}

func (c *compiler) rolesOf(x taskContext, d *lang.Document, n *yaml.Node) {
	for _, u := range c.uses(d, n, "roles") {
		c.useRole(x, u)
	}
}

// useRole compiles the tasks of a role, and of the roles that it depends on, unless they
// depend on each other in a circle.
func (c *compiler) useRole(x taskContext, u roleUse) {
	if !c.acyclicRole(u) {
		c.lostFile()
		return
	}
	c.useRoleOnce(x, u)
}

func (c *compiler) useRoleOnce(x taskContext, u roleUse) {
	r := c.role(u.name, u.pos)
	if r == nil || c.tooLarge(u.pos) {
		return
	}
	for _, dep := range r.uses {
		if !dep.params && x.state.applied[dep.name] {
			continue
		}
		c.useRoleOnce(x, dep)
	}
	x.doc, x.role, x.files, x.tree = r.tasks, r.name, r.files, r.tree
	x.dir, x.here = r.name+"/tasks", ""
	x = x.with(r.defaults).with(r.vars).with(u.vars).tagged(u.tags).inside(u.inherited)
	if !x.state.applied[r.name] {
		x.state.applied[r.name] = true
		if r.handlers != nil {
			h := x.withoutLoops() // a handler runs once for all items
			h.doc = r.handlers
			c.handlers(h, c.list(r.handlers, r.handlers.Root, "handlers"))
		}
	}
	if r.tasks == nil {
		return
	}
	nodes := c.list(r.tasks, r.tasks.Root, "tasks")
	if len(u.when) == 0 && u.only == nil {
		c.tasks(x, nodes)
		return
	}
	b := &program.Block{Name: "role " + r.name, Pos: u.pos, Parent: x.block, When: u.when, Scopes: x.scopes, OnlyHosts: u.only}
	c.block(x, b, nodes, nil, nil)
}

// role loads a role once; nil when it cannot be used, after recording the error once.
func (c *compiler) role(name string, pos strictyaml.Pos) *role {
	if r, ok := c.roles[name]; ok {
		return r
	}
	c.roles[name] = nil
	tree, ok := c.findRole(name)
	if !ok {
		c.fail(pos.Errorf("unknown role %q%s", name, strictyaml.Hint(name, c.roleNames())))
		return nil
	}
	r := &role{name: name, tree: tree, files: c.files("role "+name,
		lang.SearchDir{Tree: tree, Dir: name + "/templates", Templates: true},
		lang.SearchDir{Tree: tree, Dir: name + "/files", Files: true},
		lang.SearchDir{Tree: c.lib.Templates, Dir: name, Templates: true},
		lang.SearchDir{Tree: c.lib.Templates, Dir: ".", Templates: true})}
	r.tasks = c.roleFile(r, "tasks")
	r.handlers = c.roleFile(r, "handlers")
	if d := c.roleFile(r, "defaults"); d != nil {
		r.defaults = c.compileScope(d, d.Root, lang.RoleDefaults)
	}
	if d := c.roleFile(r, "vars"); d != nil {
		r.vars = c.compileScope(d, d.Root, lang.RoleVars)
	}
	if d := c.roleFile(r, "meta"); d != nil {
		var meta struct {
			Dependencies yaml.Node `yaml:"dependencies"`
			Description  string    `yaml:"description"`
			Galaxy       yaml.Node `yaml:"galaxy_info"` // for Ansible Galaxy only
		}
		if err := strictyaml.DecodeAs(d.Name, "role "+name, d.Root, &meta); err != nil {
			c.fail(err)
			c.lostFile()
		}
		r.uses = c.uses(d, &meta.Dependencies, "dependencies")
	}
	c.roles[name] = r
	return r
}
