package program

import (
	"strings"

	"deployer/engine/lang"
	"deployer/limit"
)

// HostLimit is a number of hosts, a share of hosts, or an expression that gives either.
type HostLimit struct {
	Default limit.Limit // the limit, unless Expr computes it
	Expr    *lang.Expr  // nil when Default has the limit
}

// Limit computes a limit of the block; key is its keyword, for errors.
func (b *Block) Limit(key string, l HostLimit, vars *lang.Vars) (limit.Limit, error) {
	if l.Expr == nil {
		return l.Default, nil
	}
	text, err := b.Text(l.Expr, vars)
	out := l.Default
	if err == nil {
		out, err = limit.Parse(text)
	}
	if err != nil {
		return out, l.Expr.Pos.Errorf("%s %q: %v", key, l.Expr.Src, err)
	}
	return out, nil
}

// HostGroups are groups or patterns of hosts.
type HostGroups struct {
	Names []string
	Value *lang.Value // computes the names; nil when Names has them
}

// Groups computes groups of the block; key is their keyword, for errors. The values of
// variables are those of one host, for all hosts.
func (b *Block) Groups(key string, g HostGroups, vars *lang.Vars) ([]string, error) {
	if g.Value == nil {
		return g.Names, nil
	}
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(b.Scopes, g.Value.Refs()); err != nil {
		return nil, g.Value.Pos.Errorf("%s: %v", key, err)
	}
	v, err := g.Value.Eval(vars.Map())
	if err != nil {
		return nil, err
	}
	switch t := v.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.TrimSpace(t) == "" {
			return nil, nil
		}
		return []string{t}, nil
	case []any:
		var out []string
		for _, name := range t {
			text, ok := name.(string)
			if !ok {
				return nil, g.Value.Pos.Errorf("%s: want names of groups or patterns of hosts, got %s", key, lang.Describe(name))
			}
			out = append(out, text)
		}
		return out, nil
	}
	return nil, g.Value.Pos.Errorf("%s: want names of groups or patterns of hosts, got %s", key, lang.Describe(v))
}
