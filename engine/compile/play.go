package compile

import (
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/limit"
	"deployer/strictyaml"
)

type rawPlay struct {
	rawInherit
	Name      string                 `yaml:"name"`
	Hosts     string                 `yaml:"hosts" required:"true"`
	Vars      yaml.Node              `yaml:"vars"`
	VarsFiles yaml.Node              `yaml:"vars_files"`
	Prompts   yaml.Node              `yaml:"vars_prompt"`
	Roles     yaml.Node              `yaml:"roles"`
	PreTasks  yaml.Node              `yaml:"pre_tasks"`
	Tasks     yaml.Node              `yaml:"tasks"`
	PostTasks yaml.Node              `yaml:"post_tasks"`
	Handlers  yaml.Node              `yaml:"handlers"`
	MaxFail   map[string]limit.Limit `yaml:"max_fail"`
	MaxShare  *float64               `yaml:"max_fail_percentage"`
	Barrier   bool                   `yaml:"barrier"`
	Serial    yaml.Node              `yaml:"serial"`
	Strategy  string                 `yaml:"strategy" enum:"free,linear"`
	Tags      yaml.Node              `yaml:"tags"`
	// GatherFacts has no effect: the agent sends facts in its handshake.
	GatherFacts    *bool `yaml:"gather_facts"`
	AnyErrorsFatal bool  `yaml:"any_errors_fatal"`
	ForceHandlers  bool  `yaml:"force_handlers"`
	Forks          int   `yaml:"forks"`
}

func (c *compiler) playbook(d *lang.Document, in importContext) {
	plays := c.list(d, d.Root, "playbook")
	if len(plays) == 0 && len(c.errs) == 0 {
		c.fail(d.At(d.Root).Errorf("the playbook has no play"))
	}
	for _, n := range plays {
		if isImport(n) {
			c.importPlaybook(d, n, in)
		} else {
			c.play(d, n, in)
		}
	}
}

func (c *compiler) play(d *lang.Document, n *yaml.Node, in importContext) {
	var raw rawPlay
	n = c.rejectAnsibleKeys(d, n, "play", ansiblePlayKeywords)
	if err := strictyaml.DecodeAs(d.Name, "play", n, &raw); err != nil {
		c.fail(err)
		c.lostKeys(n, keywords(reflect.TypeFor[rawPlay]()))
		if raw.Hosts == "" {
			c.lostFile()
			return
		}
	}
	p := &program.Play{Index: len(c.prog.Plays), Name: raw.Name, Pos: d.At(n), Hosts: raw.Hosts, MaxFail: raw.MaxFail,
		Serial: c.serial(d, &raw.Serial), Linear: raw.Strategy == "linear" || c.lib.Step,
		AnyErrorsFatal: raw.AnyErrorsFatal, ForceHandlers: raw.ForceHandlers, Forks: raw.Forks}
	if p.Forks < 0 {
		c.fail(d.KeyPos(n, "forks").Errorf("forks: want a number of hosts, or 0 for no other limit than that of the run"))
	}
	c.maxShare(d, n, p, raw.MaxShare)
	if p.Name == "" {
		p.Name = raw.Hosts
	}
	if c.lib.Match != nil {
		if _, err := c.lib.Match(p.Hosts); err != nil {
			c.fail(d.KeyPos(n, "hosts").Errorf("hosts: %v", err))
		}
	}
	c.prog.Plays = append(c.prog.Plays, p)
	c.prompts(d, &raw.Prompts)
	x := taskContext{
		doc: d, play: p, tree: c.tree, dir: in.dir, tags: slices.Concat(in.tags, c.tags(d, &raw.Tags)),
		files: c.files("the playbook",
			lang.SearchDir{Tree: c.tree, Dir: in.dir + "/templates", Templates: true},
			lang.SearchDir{Tree: c.tree, Dir: in.dir + "/files", Files: true},
			lang.SearchDir{Tree: c.tree, Dir: in.dir, Templates: true, Files: true}),
		state: &playState{byName: map[string]map[string]*program.Task{}, listeners: map[string][]*program.Task{}, applied: map[string]bool{}},
	}
	d.WithFiles(x.files)
	x = x.with(c.compileScope(d, &raw.Vars, lang.PlayVars)).inside(c.inheritedOf(d, n, &raw.rawInherit))
	x.scopes = append(slices.Clip(x.scopes), in.scopes...)
	for _, scope := range c.varsFiles(x, &raw.VarsFiles, in.dir) {
		x = x.with(scope)
	}
	p.Begin = c.emit(program.Op{Kind: program.OpPlay, Play: p})
	if raw.Barrier || p.Linear {
		c.emit(program.Op{Kind: program.OpBarrier, Play: p})
	}
	if len(p.Serial) > 0 {
		p.Batch = c.emit(program.Op{Kind: program.OpBatch, Play: p})
	}
	c.handlers(x, c.list(d, &raw.Handlers, "handlers"))
	c.playParts(x, d, &raw)
	p.End = c.emit(program.Op{Kind: program.OpPlayEnd, Play: p})
	c.notify(x.state)
	c.orderHandlers(p, x.state)
}

// playParts compiles the tasks of a play in their order: pre_tasks, roles and tasks,
// post_tasks. Each part ends with the handlers that it has notified, as in Ansible: when
// post_tasks put a host into use again, its services have been restarted.
func (c *compiler) playParts(x taskContext, d *lang.Document, raw *rawPlay) {
	pre, tasks, post := c.list(d, &raw.PreTasks, "pre_tasks"), c.list(d, &raw.Tasks, "tasks"), c.list(d, &raw.PostTasks, "post_tasks")
	main := len(tasks) > 0 || len(raw.Roles.Content) > 0
	c.tasks(x, pre)
	if len(pre) > 0 && (main || len(post) > 0) {
		c.flush(x)
	}
	c.rolesOf(x, d, &raw.Roles)
	c.tasks(x, tasks)
	if main && len(post) > 0 {
		c.flush(x)
	}
	c.tasks(x, post)
	x.play.Last = len(c.prog.Ops)
	c.flush(x)
}

// flush emits the run of the notified handlers.
func (c *compiler) flush(x taskContext) {
	c.lockstep(x)
	c.emit(program.Op{Kind: program.OpFlush, Play: x.play})
}

// maxShare converts Ansible's max_fail_percentage to a limit of the hosts of the play.
func (c *compiler) maxShare(d *lang.Document, n *yaml.Node, p *program.Play, percent *float64) {
	switch {
	case percent == nil:
	case len(p.MaxFail) > 0:
		c.fail(d.KeyPos(n, "max_fail_percentage").Errorf("max_fail_percentage: the play has max_fail already; remove one of them"))
	case !(*percent >= 0 && *percent <= 100):
		c.fail(d.KeyPos(n, "max_fail_percentage").Errorf("max_fail_percentage: want a number from 0 to 100"))
	default:
		p.MaxFail = map[string]limit.Limit{p.Hosts: {Percent: *percent, Share: true}}
	}
}
