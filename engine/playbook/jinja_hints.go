package playbook

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deployer/ansible/jinja"
)

// asCondition is what a condition of Jinja is here, as advice; empty when it is
// none.
func asCondition(src string) string { return asExpr(src, jinja.Condition) }

// asValue is asCondition for an expression of any value.
func asValue(src string) string { return asExpr(src, jinja.Expression) }

func asExpr(src string, translate func(string) (string, error)) string {
	out, err := translate(src)
	if err != nil && !jinja.Unreadable(err) {
		return "; " + err.Error()
	}
	if _, err := newStrictness(out); err != nil || out == "" || out == src {
		return jinjaFormAdvice(src)
	}
	return "; write " + out
}

// asTemplate is what a line of Jinja is here, as advice; empty when it is none.
func asTemplate(src string, line int) string {
	if lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n"); len(lines) > 1 {
		src = lines[min(max(line, 1), len(lines))-1]
	}
	if !jinja.IsJinja(src) {
		return ""
	}
	out, problems := jinja.Text(src)
	if len(problems) > 0 {
		return "; " + problems[0].Err.Error()
	}
	return "; write " + strings.TrimSpace(out)
}

// notExpression says of the code of a template file why it is none of a text.
func notExpression(src string) error {
	if strings.HasPrefix(src, ".") {
		return fmt.Errorf("variables have no dot in texts: write {{ %s }}", strings.TrimPrefix(src, "."))
	}
	if word := templateStatement(src); word != "" {
		return fmt.Errorf("%s stands in template files only; a text has {{ CONDITION ? A : B }} and {{ LIST | join(', ') }}", word)
	}
	if strings.HasPrefix(src, "$") && !strings.HasPrefix(src, "$env") {
		return fmt.Errorf("%s is of template files; a text has {{ let NAME = VALUE; EXPRESSION }}", src)
	}
	if at := strings.Index(src, "//"); at >= 0 && !quotedAt(src, at) {
		return errors.New("// begins a comment; a division without a fraction is int(A / B)")
	}
	return nil
}

// templateStatementPattern is one of text/template.
var templateStatementPattern = regexp.MustCompile(`^(end|else)$|^(?:else )?(if|range|with|define|template|block)\s+(["'.$(]|\w+)`)

// templateStatement is the word with which a statement of text/template begins; empty for an
// expression.
func templateStatement(src string) string {
	m := templateStatementPattern.FindStringSubmatch(src)
	switch {
	case m == nil, m[2] == "if" && strings.Contains(src, "{"):
		return "" // expr has if CONDITION { A } else { B }
	case slices.Contains([]string{"in", "not", "and", "or", "matches", "contains", "startsWith", "endsWith"}, m[3]):
		return "" // a variable that is called so
	}
	return m[1] + m[2]
}

// quotedAt reports whether a place of an expression stands in quotes.
func quotedAt(src string, at int) bool {
	quote := byte(0)
	for i := range at {
		switch c := src[i]; {
		case quote == 0 && (c == '\'' || c == '"' || c == '`'):
			quote = c
		case c == quote && (i == 0 || src[i-1] != '\\'):
			quote = 0
		}
	}
	return quote != 0
}

// textAdvice is what to write instead of a statement of Jinja in a text.
func textAdvice(src string, offset int) string {
	if !strings.HasPrefix(src[offset:], "{%") {
		return ""
	}
	return "; a text has {{ CONDITION ? A : B }} and {{ LIST | join(', ') }}, a file of its own has statements: {{ if }}, {{ range }}"
}

// jinjaStatementPattern is one that text/template would leave as it is.
var jinjaStatementPattern = regexp.MustCompile(`\{%[-+]?\s*(if|for|set|include|macro|block|extends|raw|import|from)\b[^%]*%\}`)

// rejectJinjaStatement refuses a text with a statement of Jinja, which would be taken
// as it stands.
func rejectJinjaStatement(src string, orig origin) error {
	at := jinjaStatementPattern.FindStringIndex(src)
	if at == nil {
		return nil
	}
	line := strings.Count(src[:at[0]], "\n")
	col := at[0] - (strings.LastIndexByte(src[:at[0]], '\n') + 1)
	advice := "; `deployer convert FILE` translates template files"
	if !strings.Contains(strings.TrimSpace(src), "\n") {
		advice = asTemplate(src, 1)
	}
	return orig.at(line+1, col).Errorf("template: %s is Jinja%s", src[at[0]:at[1]], advice)
}

// rejectAnsibleNames reports names of Ansible in an expression, where no host has a
// variable that is called so.
func (c *compiler) rejectAnsibleNames(e *Expr) {
	for _, name := range e.refs.Names() {
		_, known := ansibleNames[name]
		if !known || !c.isAnsibleName(name, e.refs) {
			continue
		}
		advice := asCondition(e.Src)
		if advice == "" {
			advice = "; deployer calls it " + ansibleNames[name]
		}
		c.fail(e.Pos.Errorf("%s: unknown name %q%s", fmt.Sprintf("expression %q", e.Src), name, advice))
		return
	}
}

// rejectAnsibleNamesInTexts reports names of Ansible in the texts of tasks, as foreignNames does.
func (c *compiler) rejectAnsibleNamesInTexts() {
	for _, t := range c.allTasks() {
		for _, at := range t.definiteUses() {
			if ours, known := ansibleNames[at.name]; known && c.isAnsibleName(at.name, t.refs) {
				c.fail(at.pos.Errorf("%s: unknown name %q; deployer calls it %s", at.what, at.name, ours))
			}
		}
	}
}

// definiteUses are the variables that texts of a task look at in any case, in those of its
// variables too.
func (t *Task) definiteUses() []varUse {
	var out []varUse
	if t.Args != nil {
		out = append(out, t.Args.root.definiteUses()...)
	}
	if t.nameText != nil {
		out = append(out, t.nameText.definite...)
	}
	for _, s := range t.Scopes {
		for _, name := range s.names {
			if t.refs.Has(name) {
				out = append(out, s.vars[name].definiteUses()...)
			}
		}
	}
	return out
}

// isAnsibleName reports whether a name of Ansible is one that no host has.
func (c *compiler) isAnsibleName(name string, refs Refs) bool {
	if refs.tested[name] || !strings.HasPrefix(name, "ansible_") && !slices.Contains(reservedByAnsible, name) || c.someHostHas(name) {
		return false
	}
	_, set := c.defined[name]
	return !set
}

// reservedByAnsible are names that nobody gives to variables of their own.
var reservedByAnsible = []string{"inventory_hostname", "inventory_hostname_short", "hostvars", "group_names", "play_hosts", "omit", "True", "False", "None"}

func (c *compiler) someHostHas(name string) bool {
	if _, extra := c.lib.Extra[name]; extra || slices.Contains(c.lib.Promised, name) {
		return true
	}
	return c.lib.Vars != nil && slices.ContainsFunc(c.lib.RunHosts, func(host string) bool {
		_, ok := c.lib.Vars(host)[name]
		return ok
	})
}
