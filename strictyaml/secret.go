package strictyaml

import (
	"slices"

	"gopkg.in/yaml.v3"
)

// ResolveTags resolves the tags of secrets in the tree below n, in place, and returns
// the secrets, sorted:
//
//	password: !secret hunter2      the text is a secret
//	tokens: !secret [a, b]         and so is every text below a tagged value
//	password: !env DB_PASSWORD     the text of an environment variable, a secret
//
// A secret is always text, never a number. env looks up a variable, as
// os.LookupEnv does. The error, of type Errors, names the variables not set.
func ResolveTags(file string, n *yaml.Node, env func(string) (string, bool)) ([]string, error) {
	r := &tagResolver{file: file, env: env, seen: map[*yaml.Node]bool{}}
	r.walk(n, false)
	slices.Sort(r.secrets)
	return slices.Compact(r.secrets), r.errs.orNil()
}

type tagResolver struct {
	file    string
	env     func(string) (string, bool)
	seen    map[*yaml.Node]bool
	secrets []string
	errs    Errors
}

func (r *tagResolver) walk(n *yaml.Node, secret bool) {
	if n == nil || r.seen[n] {
		return // shared through an alias; its tag was seen where it was defined
	}
	r.seen[n] = true
	secret = secret || n.Tag == "!secret"
	switch {
	case n.Tag == "!env":
		r.lookup(n)
	case n.Kind == yaml.ScalarNode && secret && !isNull(n):
		r.take(n, n.Value)
	case n.Tag == "!secret":
		n.Tag = ""
	}
	for i, c := range n.Content {
		isKey := n.Kind == yaml.MappingNode && i%2 == 0
		r.walk(c, secret && !isKey)
	}
	if n.Alias != nil {
		r.walk(n.Alias, secret)
	}
}

func (r *tagResolver) lookup(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		n.Tag = ""
		r.errs = append(r.errs, At(r.file, n).Errorf("!env wants the name of an environment variable"))
		return
	}
	name := n.Value
	value, ok := r.env(name)
	if !ok {
		r.errs = append(r.errs, At(r.file, n).Errorf("environment variable %q is not set; export it before this run", name))
	}
	r.take(n, value)
}

// take makes n the secret text. TaggedStyle stays, so that messages about the
// value do not repeat it.
func (r *tagResolver) take(n *yaml.Node, text string) {
	n.Tag, n.Value, n.Style = "!!str", text, n.Style|yaml.TaggedStyle
	if text != "" {
		r.secrets = append(r.secrets, text)
	}
}
