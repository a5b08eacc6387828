package compile

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/compile/vet"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// Compiler is what playbooks are compiled against.
type Compiler struct {
	// Registry holds the kinds of task that may be used.
	Registry engine.Registry
	// Renamed maps names of Ansible to what the registry calls the same; an
	// unknown module of such a name is answered with it. It may be nil.
	Renamed map[string]string
	// Roles are searched in order for NAME/tasks/main.yaml.
	Roles []lang.Tree
	// Templates is searched for ROLE/FILE, then for FILE, after the role's own
	// templates/ folder; its FS may be nil.
	Templates lang.Tree
	// Decrypt opens a file of vars_files whose name ends in .age; the name is for
	// messages. With nil such files are errors.
	Decrypt func(name string, data []byte) ([]byte, error)
	// Outside opens the directory of a file or template that a task names by an
	// absolute path; os.DirFS when nil.
	Outside func(dir string) fs.FS
	// Tags selects tasks that have one of them, or the tag "always"; empty
	// selects all but those tagged "never". SkipTags leaves tasks out.
	Tags, SkipTags []string
	// Hosts are the names of all hosts of the inventory. With it, names in
	// delegate_to are checked when compiling; it may be nil.
	Hosts []string
	// StartAt is the name of the task to start at; those before it are left out,
	// whatever their tags. Empty starts at the first.
	StartAt string
	// Step makes every play linear, for a run that asks before each task.
	Step bool
	// Vars are the variables that a host has before the run, and Extra those that
	// win over all others. Loops at includes are laid out with them; both may be
	// nil.
	Vars  func(host string) map[string]any
	Extra map[string]any
	// Run are the hosts of the run. With it, Vars and Match, variables that nobody
	// gives a value are found; Given are those that will have one.
	RunHosts, Promised []string
	// Match resolves a pattern of hosts. With it, patterns are checked when
	// compiling, and circular waits between plays are found; it may be nil.
	Match func(pattern string) ([]string, error)
}

// Compile reads a playbook and everything that it refers to. The error is of
// type strictyaml.Errors and holds everything that is wrong.
func (l *Compiler) Compile(tree lang.Tree, file string) (*program.Program, error) {
	c := &compiler{started: l.StartAt == "",
		lib: l, tree: tree, prog: &program.Program{Name: file},
		docs: map[string]*lang.Document{}, labels: map[string]*program.Label{}, roles: map[string]*role{}, knownTags: map[string]bool{},
	}
	d := c.load(tree, file, strictyaml.Pos{})
	if d != nil {
		c.playbook(d, importContext{dir: path.Dir(file), files: []string{tree.DisplayPath(file)}})
		c.checkStart()
		c.checkTags()
		c.resolveNeeds()
		c.finish()
		if len(c.errs) == 0 { // a name may get its value where something is wrong
			for _, err := range vet.UndefinedNames(c.prog, c.inventory()) {
				c.fail(err)
			}
		}
		c.checkWaits()
	}
	if err := strictyaml.Join(c.errs...); err != nil {
		return nil, err
	}
	return c.prog, nil
}

type compiler struct {
	lib    *Compiler
	tree   lang.Tree
	prog   *program.Program
	docs   map[string]*lang.Document
	labels map[string]*program.Label
	roles  map[string]*role
	needs  []pendingNeed
	// started is false before the task of Library.StartAt; passed are the names
	// of the tasks up to it.
	started   bool
	passed    []string
	knownTags map[string]bool // tags that some task has
	errs      []error
}

func (c *compiler) fail(err error) {
	if err == nil || slices.ContainsFunc(c.errs, func(e error) bool { return e.Error() == err.Error() }) {
		return // or said already, of a file that is in place more than once
	}
	c.errs = append(c.errs, err)
}

// load parses a file once; nil when it cannot be used, and then said so. pos is
// where it is named.
func (c *compiler) load(tree lang.Tree, file string, pos strictyaml.Pos) *lang.Document {
	shown := tree.DisplayPath(file)
	if d, ok := c.docs[shown]; ok {
		return d
	}
	data, err := c.read(tree, file)
	if err != nil {
		if pos.File == "" {
			c.fail(fmt.Errorf("reading %s: %w", shown, err))
		} else {
			c.fail(pos.Errorf("reading %s: %v", shown, err))
		}
		return nil
	}
	d, err := lang.ParseDocument(shown, data)
	if err != nil {
		c.fail(err)
		return nil
	}
	c.docs[shown] = d
	return d
}

// emit appends an operation and returns its index.
func (c *compiler) emit(op program.Op) int {
	c.prog.Ops = append(c.prog.Ops, op)
	return len(c.prog.Ops) - 1
}

// list checks that a node is a list and returns its elements.
func (c *compiler) list(d *lang.Document, n *yaml.Node, what string) []*yaml.Node {
	if n.ShortTag() == "!!null" || n.Kind == 0 {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		c.fail(d.At(n).Errorf("%s: want a list", what))
		return nil
	}
	return n.Content
}

func (c *compiler) tags(d *lang.Document, n *yaml.Node) []string {
	var out []string
	for _, t := range c.texts(d, n, "tags") {
		out = append(out, t.Value)
	}
	return out
}
