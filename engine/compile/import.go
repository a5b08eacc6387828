package compile

import (
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/strictyaml"
)

// rawImport is an entry of a playbook that stands for the plays of another one.
type rawImport struct {
	ImportPlaybook string    `yaml:"import_playbook" required:"true"`
	Name           string    `yaml:"name"`
	Vars           yaml.Node `yaml:"vars"`
	Tags           yaml.Node `yaml:"tags"`
	When           yaml.Node `yaml:"when"`
}

// importContext has the keywords that plays inherit from the playbooks that import them.
type importContext struct {
	dir    string // the directory of the playbook, in the compiler's tree
	scopes []*lang.Scope
	tags   []string
	files  []string // the importing files, for circular imports
}

func isImport(n *yaml.Node) bool {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "import_playbook" {
			return true
		}
	}
	return false
}

// importPlaybook compiles the plays of another playbook.
func (c *compiler) importPlaybook(d *lang.Document, n *yaml.Node, in importContext) {
	var raw rawImport
	if err := strictyaml.DecodeAs(d.Name, "import_playbook", n, &raw); err != nil {
		c.fail(err)
		c.lostFile()
		return
	}
	if raw.When.Kind != 0 {
		c.fail(d.KeyPos(n, "when").Errorf("import_playbook does not support when, because playbooks are imported before any host is known; put the condition at the roles or tasks"))
	}
	file := lang.JoinPath(in.dir, raw.ImportPlaybook)
	shown, pos := c.tree.DisplayPath(file), d.KeyPos(n, "import_playbook")
	if slices.Contains(in.files, shown) {
		c.fail(pos.Errorf("playbooks import each other in a circle: %s", strings.Join(append(slices.Clone(in.files), shown), " -> ")))
		return
	}
	if c.tooLarge(pos) {
		return
	}
	other := c.load(c.tree, file, pos)
	if other == nil {
		return
	}
	if scope := c.compileScope(d, &raw.Vars, lang.PlayVars); scope != nil {
		in.scopes = append([]*lang.Scope{scope}, in.scopes...)
	}
	in.dir, in.files = path.Dir(file), append(slices.Clip(in.files), shown)
	in.tags = append(slices.Clip(in.tags), c.tags(d, &raw.Tags)...)
	c.playbook(other, in)
}
