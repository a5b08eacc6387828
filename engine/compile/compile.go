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

// Compiler compiles playbooks. Its fields are what a playbook is compiled against.
type Compiler struct {
	// Registry holds the kinds of task that playbooks may use.
	Registry engine.Registry
	// Renamed maps modules of Ansible to kinds of the registry, for errors about unknown
	// modules; it may be nil.
	Renamed map[string]string
	// Roles are searched in order for NAME/tasks/main.yaml.
	Roles []lang.Tree
	// Templates is searched for ROLE/FILE, then for FILE, after the templates/ directory of
	// the role; its FS may be nil.
	Templates lang.Tree
	// Decrypt decrypts a file of variables whose name ends in .age; name is for messages.
	// With nil such files are errors.
	Decrypt func(name string, data []byte) ([]byte, error)
	// LookupEnv returns the value of an environment variable, for the tag !env in files of
	// variables; nil means os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
	// Lookups decides about the lookups that read or write this machine; nil evaluates them.
	// Checks before the run evaluate none.
	Lookups *lang.Lookups
	// Learn gets the secrets of files of variables as soon as they are read, so that errors
	// can be printed without them; it may be nil.
	Learn func(secrets ...string)
	// Outside opens the directory of a file or a template that a task names by an absolute
	// path; nil means os.DirFS. Disk opens a directory in which only checks read, likewise.
	Outside, Disk func(dir string) fs.FS
	// Tags selects the tasks that have one of them, or the tag "always"; empty selects all
	// tasks but those tagged "never". SkipTags leaves tasks out.
	Tags, SkipTags []string
	// Hosts are the names of all hosts of the inventory. With nil the names in delegate_to
	// are not checked.
	Hosts []string
	// StartAt is the name of the first task; tasks before it are left out, whatever their
	// tags. Empty starts at the first task.
	StartAt string
	// Step makes every play linear, for a run that asks before each task.
	Step bool
	// Vars returns the variables that a host has before the run, and Extra holds those that
	// win over all others. Loops at includes are unrolled with them; both may be nil.
	Vars  func(host string) map[string]any
	Extra map[string]any
	// RunHosts are the hosts of the run. With it, Vars and Match, undefined variables are
	// found. Promised are the variables that will have a value before the run begins.
	RunHosts, Promised []string
	// Match returns the hosts of a pattern. With it, patterns are checked, and circular
	// waits between plays are found; it may be nil.
	Match func(pattern string) ([]string, error)
}

// Compile compiles a playbook and every file that it refers to. The error is of type
// strictyaml.Errors and holds all errors; a WordsOfAnsible wraps it when some are words of
// Ansible.
func (l *Compiler) Compile(tree lang.Tree, file string) (*program.Program, error) {
	c := &compiler{started: l.StartAt == "",
		lib: l, tree: tree, prog: &program.Program{Name: file},
		docs: map[string]*lang.Document{}, labels: map[string]*program.Label{}, roles: map[string]*role{}, knownTags: map[string]bool{},
		rollouts: map[string]int{}, doubts: vet.Doubts{Names: map[string]bool{}, Args: map[*program.Task]bool{}},
	}
	d := c.load(tree, file, strictyaml.Pos{})
	if d != nil {
		c.playbook(d, importContext{dir: path.Dir(file), files: []string{tree.DisplayPath(file)}})
		c.checkStart()
		c.checkTags()
		c.resolveNeeds()
		c.finish()
		c.checkNames()
		c.checkWaits()
	}
	if err := strictyaml.Join(c.errs...); err != nil {
		return nil, withWordsOfAnsible(err, c.ansibleWords)
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
	// started is false before the task of Compiler.StartAt; passed are the names of the
	// tasks before it.
	started   bool
	passed    []string
	knownTags map[string]bool // the tags of all tasks, for errors about unknown tags
	rollouts  map[string]int  // the number of rollouts by name; see rolloutName
	size      int             // see tooLarge
	full      bool            // the error of a program that is too large was recorded
	errs      []error
	doubts    vet.Doubts
	asides    int // depth of aside
	// ansibleWords are the unknown modules and keywords that Ansible knows.
	ansibleWords []string
}

func (c *compiler) fail(err error) {
	if err == nil || slices.ContainsFunc(c.errs, func(e error) bool { return e.Error() == err.Error() }) {
		return // a file that is included twice has each error once
	}
	c.errs = append(c.errs, err)
}

// load parses a file once; nil when the file cannot be used, after recording the error. pos
// is the place that names the file.
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
		c.lostFile()
		return nil
	}
	d, err := lang.ParseDocument(shown, data)
	if err != nil {
		c.fail(err)
		c.lostFile()
		return nil
	}
	c.docs[shown] = d
	return d
}

// emit appends an operation and returns its index.
func (c *compiler) emit(op program.Op) int {
	c.size++
	c.prog.Ops = append(c.prog.Ops, op)
	return len(c.prog.Ops) - 1
}

// list returns the elements of a list; a node of another kind is an error.
func (c *compiler) list(d *lang.Document, n *yaml.Node, what string) []*yaml.Node {
	if n.ShortTag() == "!!null" || n.Kind == 0 {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		c.fail(d.At(n).Errorf("%s: want a list", what))
		c.lostFile()
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
