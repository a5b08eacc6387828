package playbook

import (
	"errors"
	"strings"
	"text/template"
	"text/template/parse"

	"deployer/strictyaml"
)

// single is a template that is one action only.
type single struct {
	tpl *template.Template
	// path is set for a plain {{ .a.b }}, which needs no execution.
	path []string
	// encoded is true when the action ends in toJson or the like, so that its
	// text stands for a structure.
	encoded bool
}

// singleAction looks whether the text is one action and nothing else.
func singleAction(src string, tpl *template.Template, funcs template.FuncMap) (*single, error) {
	if tpl.Tree == nil || len(tpl.Root.Nodes) != 1 {
		return nil, nil
	}
	action, ok := tpl.Root.Nodes[0].(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 {
		return nil, nil
	}
	s := &single{}
	cmds := action.Pipe.Cmds
	last := cmds[len(cmds)-1]
	if id, ok := last.Args[0].(*parse.IdentifierNode); ok {
		s.encoded = strings.HasPrefix(id.Ident, "to") || strings.HasPrefix(id.Ident, "mustTo")
		s.encoded = s.encoded && (strings.Contains(id.Ident, "Json") || strings.Contains(id.Ident, "Yaml"))
	}
	if field, ok := last.Args[0].(*parse.FieldNode); ok && len(cmds) == 1 && len(last.Args) == 1 {
		s.path = field.Ident
		return s, nil
	}
	// The value itself, not its text, is caught by one more command at the
	// end of the pipeline: it stores the value where the variables say.
	catching, err := template.New(".").Option("missingkey=error").Funcs(funcs).Parse(src)
	if err != nil {
		return nil, err
	}
	catch, err := template.New("c").Funcs(funcs).Parse("{{ " + catchFunc + " $." + catchVar + " }}")
	if err != nil {
		return nil, err
	}
	pipe := catching.Root.Nodes[0].(*parse.ActionNode).Pipe
	pipe.Cmds = append(pipe.Cmds, catch.Root.Nodes[0].(*parse.ActionNode).Pipe.Cmds[0])
	s.tpl = catching
	return s, nil
}

// catchVar is the hidden variable with the *caught of a host.
const (
	catchFunc = "catch__"
	catchVar  = "caught__"
)

type caught struct {
	value    any
	definers map[string]strictyaml.Pos // see Vars.Explain
}

func catchValue(c *caught, value any) string {
	c.value = value
	return ""
}

// Native computes the value of a template that is one action, with its type;
// ok is false for other templates.
func (t *Template) native(vars map[string]any) (value any, ok bool, err error) {
	if t.one == nil {
		return nil, false, nil
	}
	if t.one.path != nil {
		if v, found := lookup(vars, t.one.path); found {
			return v, true, nil
		}
		_, err := t.Text(vars) // for its error
		if err == nil {
			err = t.orig.start.Errorf("template %s: unknown name", t.src)
		}
		return nil, true, err
	}
	c, _ := vars[catchVar].(*caught)
	if c == nil {
		return nil, false, errors.New("variables were not made by NewVars")
	}
	c.value = nil
	if err := t.one.tpl.Execute(&strings.Builder{}, vars); err != nil {
		return nil, true, t.execError(err, vars)
	}
	return c.value, true, nil
}

func lookup(vars map[string]any, path []string) (any, bool) {
	var at any = vars
	for _, step := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	return at, true
}
