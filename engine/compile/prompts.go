package compile

import (
	"cmp"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

type rawPrompt struct {
	Name    string `yaml:"name" required:"true"`
	Prompt  string `yaml:"prompt"`
	Default string `yaml:"default"`
	Private *bool  `yaml:"private"`
	Confirm bool   `yaml:"confirm"`
}

var ansiblePromptKeywords = map[string]string{
	"encrypt":   "the answer is not changed; for the module user, answer with a hash made by mkpasswd --method=yescrypt",
	"salt":      "the answer is not changed",
	"salt_size": "the answer is not changed",
	"unsafe":    "answers are never evaluated; leave it out",
}

// prompts reads vars_prompt. When several plays ask for the same variable, only the
// first play asks.
func (c *compiler) prompts(d *lang.Document, n *yaml.Node) {
	for _, e := range c.list(d, n, "vars_prompt") {
		var raw rawPrompt
		if err := strictyaml.DecodeAs(d.Name, "vars_prompt", c.rejectAnsibleKeys(d, e, "vars_prompt", ansiblePromptKeywords), &raw); err != nil {
			c.fail(err)
			c.lost(e)
			continue
		}
		pos := d.KeyPos(e, "name")
		switch {
		case slices.Contains(lang.Reserved(), raw.Name):
			c.fail(pos.Errorf("the variable %q belongs to the engine; choose another name", raw.Name))
		case !variable.MatchString(raw.Name):
			c.fail(pos.Errorf("%q cannot be the name of a variable: use letters, digits and _, beginning with a letter", raw.Name))
		case lang.IsTemplate(raw.Prompt) || lang.IsTemplate(raw.Default):
			c.fail(pos.Errorf("vars_prompt cannot contain {{ }}: the user is asked before any host is known"))
		case !c.prog.IsPrompted(raw.Name):
			c.prog.Prompts = append(c.prog.Prompts, program.Prompt{Pos: pos, Name: raw.Name, Question: cmp.Or(raw.Prompt, raw.Name), Default: raw.Default,
				Private: raw.Private == nil || *raw.Private, Confirm: raw.Confirm})
		}
	}
}
