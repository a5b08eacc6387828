package lang

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deployer/ansible/jinja"
)

// ConditionAdvice returns the form in deployer of a Jinja condition, as the end of an
// error; empty when src is not Jinja.
func ConditionAdvice(src string) string { return asExpr(src, jinja.Condition) }

// ValueAdvice is ConditionAdvice for an expression of any value.
func ValueAdvice(src string) string { return asExpr(src, jinja.Expression) }

func asExpr(src string, translate func(string) (string, error)) string {
	out, err := translate(src)
	if err != nil && !jinja.Unreadable(err) {
		return "; " + err.Error()
	}
	if _, err := newStrictness(out); err != nil || out == "" || out == src {
		return ""
	}
	return "; write " + out
}

// templateAdvice returns the form in deployer of a line of Jinja in a template file;
// empty when the line is not Jinja.
func templateAdvice(src string, line int) string {
	if lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n"); len(lines) > 1 {
		src = lines[min(max(line, 1), len(lines))-1]
	}
	if !jinja.IsJinja(src) {
		return ""
	}
	out, problems := jinja.Text(src, NeedsDot)
	if len(problems) > 0 {
		return "; " + problems[0].Err.Error()
	}
	return "; write " + strings.TrimSpace(out)
}

// notExpression returns an error when the code of {{ }} in a text is valid in template
// files only.
func notExpression(src string) error {
	if strings.HasPrefix(src, ".") {
		return fmt.Errorf("variables have no dot in texts: write {{ %s }}", strings.TrimPrefix(src, "."))
	}
	if word := templateStatement(src); word != "" {
		return fmt.Errorf("%s is valid in template files only; in a text write {{ CONDITION ? A : B }} and {{ LIST | join(', ') }}", word)
	}
	if strings.HasPrefix(src, "$") && !strings.HasPrefix(src, "$env") {
		return fmt.Errorf("%s is valid in template files only; in a text write {{ let NAME = VALUE; EXPRESSION }}", src)
	}
	return nil
}

// rejectComment returns an error for // outside of quotes: it begins a comment of expr, and
// divides in Jinja, so that 7 // 2 would be 7.
func rejectComment(src string) error {
	quote := byte(0)
	for i := range len(src) {
		switch c := src[i]; {
		case quote == 0 && (c == '\'' || c == '"' || c == '`'):
			quote = c
		case c == quote && (i == 0 || src[i-1] != '\\'):
			quote = 0
		case quote == 0 && c == '/' && strings.HasPrefix(src[i:], "//"):
			return errors.New("// starts a comment; for an integer division write int(A / B)")
		}
	}
	return nil
}

// templateStatementPattern matches a statement of text/template.
var templateStatementPattern = regexp.MustCompile(`^(end|else)$|^(?:else )?(if|range|with|define|template|block)\s+(["'.$(]|\w+)`)

// templateStatement returns the keyword with which a statement of text/template begins;
// empty for an expression.
func templateStatement(src string) string {
	m := templateStatementPattern.FindStringSubmatch(src)
	switch {
	case m == nil, m[2] == "if" && strings.Contains(src, "{"):
		return "" // expr has if CONDITION { A } else { B }
	case slices.Contains([]string{"in", "not", "and", "or", "matches", "contains", "startsWith", "endsWith"}, m[3]):
		return "" // a variable with this name
	}
	return m[1] + m[2]
}

// textAdvice returns the alternative to a statement of Jinja in a text.
func textAdvice(src string, offset int) string {
	if !strings.HasPrefix(src[offset:], "{%") {
		return ""
	}
	return "; a text has {{ CONDITION ? A : B }} and {{ LIST | join(', ') }}, a file of its own has statements: {{ if }}, {{ range }}"
}

// jinjaStatementPattern matches a statement of Jinja, which text/template would copy to its
// output.
var jinjaStatementPattern = regexp.MustCompile(`\{%[-+]?\s*(if|elif|else|for|set|include|macro|block|extends|raw|import|from|do|filter|with|call|autoescape|continue|break|end\w+)\b[^%]*%\}`)

// rejectJinjaStatement returns an error for a template file with a statement of Jinja.
func rejectJinjaStatement(src string, orig Origin) error {
	at := jinjaStatementPattern.FindStringIndex(src)
	if at == nil {
		return nil
	}
	line := strings.Count(src[:at[0]], "\n")
	col := at[0] - (strings.LastIndexByte(src[:at[0]], '\n') + 1)
	advice := "; `deployer convert FILE` translates template files"
	if !strings.Contains(strings.TrimSpace(src), "\n") {
		advice = templateAdvice(src, 1)
	}
	return orig.at(line+1, col).Errorf("template: %s is Jinja%s", src[at[0]:at[1]], advice)
}
