package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deployer/engine/jinja"
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
		return habit(src)
	}
	return "; write " + out
}

// asTemplate is what a line of Jinja is here, as advice; empty when it is none.
func asTemplate(src string, line int) string {
	if lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n"); len(lines) > 1 {
		src = lines[min(max(line, 1), len(lines))-1]
	}
	if !jinja.Looks(src) {
		return ""
	}
	out, problems := jinja.Text(src)
	if len(problems) > 0 {
		return "; " + problems[0].Err.Error()
	}
	return "; write " + strings.TrimSpace(out)
}

// statementOfJinja is one that text/template would leave as it is.
var statementOfJinja = regexp.MustCompile(`\{%[-+]?\s*(if|for|set|include|macro|block|extends|raw|import|from)\b[^%]*%\}`)

// jinjaStatement refuses a text with a statement of Jinja, which would be taken
// as it stands.
func jinjaStatement(src string, orig origin) error {
	at := statementOfJinja.FindStringIndex(src)
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

// foreignNames reports names of Ansible in an expression, where no host has a
// variable that is called so.
func (c *compiler) foreignNames(e *Expr) {
	for _, name := range e.refs.Names() {
		_, known := namesOfAnsible[name]
		if !known || e.refs.tested[name] || !strings.HasPrefix(name, "ansible_") && !slices.Contains(certainly, name) || c.someHostHas(name) {
			continue
		}
		advice := asCondition(e.Src)
		if advice == "" {
			advice = "; deployer calls it " + namesOfAnsible[name]
		}
		c.fail(e.Pos.Errorf("%s: unknown name %q%s", fmt.Sprintf("expression %q", e.Src), name, advice))
		return
	}
}

// certainly are names that nobody gives to variables of their own.
var certainly = []string{"inventory_hostname", "inventory_hostname_short", "hostvars", "group_names", "play_hosts", "omit", "True", "False", "None"}

func (c *compiler) someHostHas(name string) bool {
	if _, extra := c.lib.Extra[name]; extra || slices.Contains(c.lib.Given, name) {
		return true
	}
	return c.lib.Vars != nil && slices.ContainsFunc(c.lib.Run, func(host string) bool {
		_, ok := c.lib.Vars(host)[name]
		return ok
	})
}
