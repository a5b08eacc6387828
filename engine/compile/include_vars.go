package compile

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/lang/dialect"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// namesVar is the variable that holds the names of an include_vars.
const namesVar = "include_vars_names"

// includeVars compiles an include_vars to one task `set` for each file that it may
// mean; each host executes the task of its file. So the variables are known before
// the run, and the choice needs only facts.
func (c *compiler) includeVars(x taskContext, raw *rawTask) {
	d := x.doc
	c.rejectKeywords(d, raw, "include_vars", "name", "when", "vars", "tags")
	wanted := c.texts(d, &raw.IncludeVars, "include_vars")
	files := c.candidates(x, wanted)
	pos := d.KeyPos(raw.node, "include_vars")
	if len(wanted) == 0 || len(files) == 0 {
		c.fail(pos.Errorf("include_vars: there is no such file in %s", strings.Join(c.shownPlaces(x), " or ")))
		c.lostFile()
		return
	}
	list, err := lang.CompileValue(d, &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: wanted, Line: raw.IncludeVars.Line, Column: raw.IncludeVars.Column})
	if err != nil {
		c.fail(err)
		c.lostFile()
		return
	}
	x = x.tagged(c.tags(d, &raw.Tags)).with(c.compileScope(d, &raw.Vars, lang.TaskVars))
	x = x.with(&lang.Scope{Layer: lang.TaskVars, Vars: map[string]*lang.Value{namesVar: list}, Names: []string{namesVar}})
	b := &program.Block{Name: "include_vars", Pos: pos, Parent: x.block, When: c.conditions(d, &raw.When, "when"), Scopes: x.scopes}
	x.block = b
	b.Begin = c.emit(program.Op{Kind: program.OpBlock, Play: x.play, Block: b})
	for _, f := range files {
		c.setsFile(x, f, files, pos)
	}
	c.noneFound(x, raw, files, pos)
	b.End = c.emit(program.Op{Kind: program.OpEnd, Play: x.play, Block: b})
}

// varsCandidate is a file that an include_vars may mean.
type varsCandidate struct {
	tree lang.Tree
	file string // in the tree
	name string // relative to its directory, in lower case
}

// chosen returns the condition under which a host takes the file of a name.
func chosen(files []varsCandidate, is string) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strconv.Quote(f.name)
	}
	return `lower(find(` + namesVar + `, lower(#) in [` + strings.Join(names, ", ") + `]) ?? "") == ` + strconv.Quote(is)
}

// setsFile compiles the task that sets the variables of a file.
func (c *compiler) setsFile(x taskContext, f varsCandidate, all []varsCandidate, pos strictyaml.Pos) {
	d := c.varsFile(f.tree, f.file, pos).WithFiles(x.files)
	if d == nil || d.Root.ShortTag() == "!!null" || len(d.Root.Content) == 0 {
		return
	}
	when, err := lang.CompileExpr(chosen(all, f.name), lang.Origin{Start: pos})
	if err != nil {
		c.fail(err)
		return
	}
	// Values of the file may read each other.
	x = x.with(c.compileScope(d, d.Root, lang.TaskVars))
	x.doc = d
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "values", Line: d.Root.Line, Column: d.Root.Column}
	c.generatedTask(x, &rawTask{Name: "variables of " + path.Base(f.file), node: d.Root, set: map[string]*yaml.Node{},
		module: &yaml.Node{Kind: yaml.ScalarNode, Value: "set"},
		args:   &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{key, d.Root}, Line: d.Root.Line, Column: d.Root.Column}}, when)
}

// noneFound compiles the task that fails on hosts for which there is no file.
func (c *compiler) noneFound(x taskContext, raw *rawTask, files []varsCandidate, pos strictyaml.Pos) {
	if _, ok := c.lib.Registry["fail"]; !ok {
		return
	}
	when, err := lang.CompileExpr(chosen(files, ""), lang.Origin{Start: pos})
	if err != nil {
		c.fail(err)
		return
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
	}
	text := `include_vars: there is no file {{ join(` + namesVar + `, " or ") }} in ` + dialect.Literal(strings.Join(c.shownPlaces(x), " or ")+
		"; there are: "+strings.Join(names, ", "))
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: raw.node.Line, Column: raw.node.Column}
	c.generatedTask(x, &rawTask{Name: "there is a file of variables", node: node, set: map[string]*yaml.Node{},
		module: &yaml.Node{Kind: yaml.ScalarNode, Value: "fail"},
		args:   &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: raw.node.Line, Column: raw.node.Column}}, when)
}

// generatedTask compiles a task that the playbook does not contain, under a condition.
func (c *compiler) generatedTask(x taskContext, raw *rawTask, when *lang.Expr) {
	done := len(c.prog.Tasks)
	c.moduleItem(x, raw)
	for _, t := range c.prog.Tasks[done:] {
		t.When = append(t.When, when)
	}
}

// varsPlaces returns the directories in which files of variables are searched.
func (c *compiler) varsPlaces(x taskContext) []string {
	if x.role != "" {
		return []string{x.role + "/vars"}
	}
	return []string{lang.JoinPath(x.dir, "vars"), x.dir}
}

func (c *compiler) shownPlaces(x taskContext) []string {
	var out []string
	for _, dir := range c.varsPlaces(x) {
		out = append(out, x.tree.DisplayPath(dir))
	}
	return out
}

// candidates returns the files that names may mean, whatever their expressions give; the
// first directory that has one counts.
func (c *compiler) candidates(x taskContext, names []*yaml.Node) []varsCandidate {
	for _, dir := range c.varsPlaces(x) {
		found := varsIn(x.tree, dir)
		var out []varsCandidate
		for _, n := range names {
			n.Value = strings.TrimPrefix(strings.TrimPrefix(n.Value, "../"), "vars/")
			fits := pattern(n.Value)
			for _, f := range found {
				if fits.MatchString(f.name) && !slices.ContainsFunc(out, func(o varsCandidate) bool { return o.file == f.file }) {
					out = append(out, f)
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// varsIn returns the files below a directory that may contain variables.
func varsIn(tree lang.Tree, dir string) []varsCandidate {
	var out []varsCandidate
	if !fs.ValidPath(dir) {
		return nil
	}
	_ = fs.WalkDir(tree.FS, dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case e.IsDir() && path.Base(dir) != "vars" && file != dir:
			return fs.SkipDir // the playbook's own directory is not searched recursively
		case e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json", encryptedSuffix}, path.Ext(file)):
			return nil
		}
		name := strings.TrimPrefix(strings.TrimPrefix(file, dir), "/")
		out = append(out, varsCandidate{tree, file, strings.ToLower(name)})
		return nil
	})
	return out
}

// pattern returns the expression that matches all names that a text may become, in lower
// case: facts are in lower case, where files of Ansible's roles are called Debian.yml.
func pattern(name string) *regexp.Regexp {
	parts, err := dialect.Split(name)
	if err != nil {
		parts = []dialect.Piece{{Text: name}} // compiling the text reports the error
	}
	var out strings.Builder
	for _, p := range parts {
		if p.Expr {
			out.WriteString(".*")
			continue
		}
		out.WriteString(regexp.QuoteMeta(strings.ToLower(p.Text)))
	}
	return regexp.MustCompile("^" + out.String() + "$")
}
