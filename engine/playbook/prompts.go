package playbook

import (
	"cmp"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// Prompt is a variable that a play asks for before the run; what is answered wins
// over all others.
type Prompt struct {
	Pos      strictyaml.Pos
	Name     string
	Question string
	Default  string // stands for no answer
	Private  bool   // the answer is not shown, and written down nowhere
	Confirm  bool   // it is asked for twice
}

type rawPrompt struct {
	Name    string `yaml:"name" required:"true"`
	Prompt  string `yaml:"prompt"`
	Default string `yaml:"default"`
	Private *bool  `yaml:"private"`
	Confirm bool   `yaml:"confirm"`
}

var ansiblePromptKeywords = map[string]string{
	"encrypt":   "the answer is taken as it is; a hash for the module user is made with mkpasswd --method=yescrypt, and given so",
	"salt":      "the answer is taken as it is",
	"salt_size": "the answer is taken as it is",
	"unsafe":    "no answer is taken for a template; leave it out",
}

// prompts reads what a play asks for. Of plays that ask for the same, the first
// does.
func (c *compiler) prompts(d *document, n *yaml.Node) {
	for _, e := range c.list(d, n, "vars_prompt") {
		var raw rawPrompt
		if err := strictyaml.DecodeAs(d.name, "vars_prompt", c.rejectAnsibleKeys(d, e, "vars_prompt", ansiblePromptKeywords), &raw); err != nil {
			c.fail(err)
			continue
		}
		pos := keyPos(d, e, "name")
		switch {
		case slices.Contains(Reserved(), raw.Name):
			c.fail(pos.Errorf("the variable %q belongs to the engine; choose another name", raw.Name))
		case !variable.MatchString(raw.Name):
			c.fail(pos.Errorf("%q cannot be the name of a variable: use letters, digits and _, beginning with a letter", raw.Name))
		case isTemplate(raw.Prompt) || isTemplate(raw.Default):
			c.fail(pos.Errorf("vars_prompt: what is asked for is known before any host is, so it has no templates"))
		case !c.isPrompted(raw.Name):
			c.prog.Prompts = append(c.prog.Prompts, Prompt{Pos: pos, Name: raw.Name, Question: cmp.Or(raw.Prompt, raw.Name), Default: raw.Default,
				Private: raw.Private == nil || *raw.Private, Confirm: raw.Confirm})
		}
	}
}

// isPrompted tells whether a variable is asked for.
func (c *compiler) isPrompted(name string) bool {
	return slices.ContainsFunc(c.prog.Prompts, func(p Prompt) bool { return p.Name == name })
}
