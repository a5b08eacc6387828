package lang

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"deployer/strictyaml"
)

// Template is a compiled template file in the language of text/template. A variable that
// does not exist is an error with its place. Template is safe for concurrent use.
type Template struct {
	orig Origin
	src  string
	tpl  *template.Template
	refs Refs
	// definite are the variables that the template reads on every host, and includes the
	// files that it always includes. setsVars is true when the template may set variables
	// itself.
	definite []VarUse
	includes []string
	setsVars bool
	// asFuncs are variables that {{ define }} parts name without a dot; see bind.
	asFuncs []string
	exprs   map[string]*templateExpr // expressions of playbooks, by their source
}

func compileTemplate(src string, orig Origin, funcs template.FuncMap) (*Template, error) {
	t := &Template{orig: orig, src: src}
	if err := rejectJinjaStatement(src, orig); err != nil {
		return nil, err
	}
	tpl, names, err := parseFile(src, funcs)
	if err != nil {
		return nil, t.parseError(err, funcs)
	}
	t.tpl, t.refs, t.asFuncs = tpl.Funcs(template.FuncMap{exprFunc: t.evaluateExpr}), templateRefs(tpl), names
	if err := t.compileExprs(); err != nil {
		return nil, err
	}
	for _, name := range names {
		t.refs.Add(name)
	}
	t.definite = t.findDefiniteUses()
	return t, nil
}

// Refs returns the variables that the template may read.
func (t *Template) Refs() Refs { return t.refs }

// Text renders the template.
func (t *Template) Text(vars map[string]any) (string, error) {
	var b boundedText
	tpl, err := t.bind(vars)
	if err != nil {
		return "", t.orig.Start.Errorf("template: %v", err)
	}
	if err := tpl.Execute(&b, vars); err != nil {
		return "", t.execError(err, vars)
	}
	out := b.String()
	if strings.Contains(out, noValue) && !strings.Contains(t.src, noValue) {
		return "", t.orig.Start.Errorf("the template prints a value that is null; give it a default or test it with if")
	}
	return out, nil
}

// boundedText is a text of at most maxTextBytes.
type boundedText struct{ strings.Builder }

// Write implements io.Writer.
func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxTextBytes {
		return 0, fmt.Errorf("the text is longer than %d MiB", maxTextBytes>>20)
	}
	return b.Builder.Write(p)
}

// Content renders the template as the content of a file. It ends with at least as many line
// ends as the template, as in Ansible: a statement in the last line must not take the end of
// the line before, without which cron ignores that line.
func (t *Template) Content(vars map[string]any) (string, error) {
	out, err := t.Text(vars)
	if missing := lineEnds(t.src) - lineEnds(out); err == nil && missing > 0 {
		out += strings.Repeat("\n", missing)
	}
	return out, err
}

// lineEnds returns the number of line ends at the end of a text.
func lineEnds(s string) int { return len(s) - len(strings.TrimRight(s, "\n")) }

// noValue is the text that text/template prints for null.
const noValue = "<no value>"

var (
	execErrorText  = regexp.MustCompile(`(?s)^template: [^:]*:(\d+):(\d+): executing ".*?" at <(.*?)>: (.*)$`)
	parseErrorText = regexp.MustCompile(`(?s)^template: [^:]*:(\d+): (.*)$`)
	noEntryText    = regexp.MustCompile(`map has no entry for key "(.*)"`)
	noFuncText     = regexp.MustCompile(`function "(.*)" not defined`)
)

// execError adds the place in the file to an error of rendering.
func (t *Template) execError(err error, vars map[string]any) error {
	m := execErrorText.FindStringSubmatch(err.Error())
	if m == nil {
		return t.orig.Start.Errorf("template: %v", err)
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	msg, code := m[4], t.asWritten(m[3])
	if missing := noEntryText.FindStringSubmatch(msg); missing != nil {
		msg = fmt.Sprintf("unknown name %q%s", missing[1], t.hint(m[3], missing[1], vars))
		whole := code
		if !strings.Contains(code, missing[1]) { // for (index .hosts "x").vars text/template names only a part
			whole = t.src
		}
		if strings.Contains(whole, "hosts") && strings.Contains(whole, ".vars."+missing[1]) {
			msg += hostVarsAdvice
		}
	}
	return t.orig.at(line, t.begin(line, col, code)).Errorf("template {{ %s }}: %s", code, msg)
}

// asWritten returns a piece of code of the parsed template as the file has it: a variable
// without a dot there is $.name in the parsed one.
func (t *Template) asWritten(code string) string {
	if bare, ok := strings.CutPrefix(code, "$."); ok && !strings.Contains(t.src, strings.TrimSuffix(code, "...")) {
		return bare
	}
	return code
}

// begin returns the column at which code begins in a line of the template; text/template
// reports the column of the last part of a chain such as .a.b.c.
func (t *Template) begin(line, col int, code string) int {
	lines := strings.Split(t.src, "\n")
	if line < 1 || line > len(lines) || col > len(lines[line-1]) {
		return col
	}
	text, code := lines[line-1], strings.TrimSuffix(code, "...")
	if i := strings.LastIndex(text[:min(len(text), col+len(code))], code); i >= 0 && i <= col {
		return i
	}
	return col
}

// hint looks for a similar name beside the one that is missing in a chain such as
// .cluster.dns.domian.
func (t *Template) hint(chain, name string, vars map[string]any) string {
	at := vars
	for _, step := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(chain, "$"), "."), ".") {
		if step == name {
			return NameHint(name, at)
		}
		next, ok := at[step].(map[string]any)
		if !ok {
			return ""
		}
		at = next
	}
	return ""
}

func (t *Template) parseError(err error, funcs template.FuncMap) error {
	m := parseErrorText.FindStringSubmatch(err.Error())
	if m == nil {
		return t.orig.Start.Errorf("template: %v", err)
	}
	line, _ := strconv.Atoi(m[1])
	msg := m[2]
	if advice := templateAdvice(t.src, line); advice != "" {
		return t.orig.at(line, 0).Errorf("template: %s%s", msg, advice)
	}
	if strings.Contains(msg, "U+005B '['") {
		msg += `; there are no [ ] in templates: write (index .hosts "db1").address, and (list "a" "b") for a list`
	}
	if strings.Contains(msg, "malformed character constant") {
		msg += `; texts stand in double quotes`
	}
	if f := noFuncText.FindStringSubmatch(msg); f != nil {
		known := make([]string, 0, len(funcs))
		for name := range funcs {
			known = append(known, name)
		}
		switch ours, ok := ansibleNames[f[1]]; {
		case ok:
			msg += "; deployer calls it " + ours
		case f[1] == "lookup" || f[1] == "query":
			msg += "; files are read by copy and template, the environment by !env in vars_files"
		default:
			msg += strictyaml.Hint(f[1], known)
		}
	}
	return t.orig.at(line, 0).Errorf("template: %s", msg)
}

// DefiniteUses returns the variables that the template reads on every host.
func (t *Template) DefiniteUses() []VarUse { return t.definite }
