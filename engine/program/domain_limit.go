package program

import (
	"fmt"

	"deployer/engine/lang"
	"deployer/limit"
)

// DomainLimits are limits of hosts that share a value, such as the nodes of a zone: as
// written, or computed by an expression.
type DomainLimits struct {
	List []DomainLimit
	Expr *lang.Expr // gives a list of mappings with by and limit; nil when List has the limits
}

// DomainLimit is the maximum number of hosts with the same value of By; a share is one of
// the hosts with that value.
type DomainLimit struct {
	By    *lang.Expr
	Limit HostLimit
}

// Domain is the value of one host in a domain limit, with the limit.
type Domain struct {
	Value string // empty for a host without a value
	Limit limit.Limit
}

// exprs returns the expressions of the limits.
func (l DomainLimits) exprs() []*lang.Expr {
	var out []*lang.Expr
	for _, one := range l.List {
		out = append(out, one.By)
		if one.Limit.Expr != nil {
			out = append(out, one.Limit.Expr)
		}
	}
	if l.Expr != nil {
		out = append(out, l.Expr)
	}
	return out
}

// Domains computes the domains of a host, in the order of the limits; key is the keyword of
// the limits, for errors.
func (b *Block) Domains(key string, l DomainLimits, vars *lang.Vars) ([]Domain, error) {
	if l.Expr != nil {
		return b.computedDomains(key, l.Expr, vars)
	}
	var out []Domain
	for _, one := range l.List {
		value, err := b.Text(one.By, vars)
		if err != nil {
			return nil, err
		}
		most, err := b.Limit("limit", one.Limit, vars)
		if err != nil {
			return nil, err
		}
		out = append(out, Domain{value, most})
	}
	return out, nil
}

// computedDomains evaluates an expression that gives the domains of a host.
func (b *Block) computedDomains(key string, e *lang.Expr, vars *lang.Vars) ([]Domain, error) {
	v, err := b.value(e, vars)
	if v == nil || err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, e.Pos.Errorf("%s %q: want a list of mappings with by and limit, got %s", key, e.Src, lang.Describe(v))
	}
	var out []Domain
	for _, one := range list {
		m, _ := one.(map[string]any)
		if len(m) != 2 || m["limit"] == nil {
			return nil, e.Pos.Errorf("%s %q: want mappings with by and limit, got %s", key, e.Src, lang.Describe(one))
		}
		if _, ok := m["by"]; !ok {
			return nil, e.Pos.Errorf("%s %q: want mappings with by and limit, got %s", key, e.Src, lang.Describe(one))
		}
		most, err := limit.Parse(fmt.Sprint(m["limit"]))
		if err != nil {
			return nil, e.Pos.Errorf("%s %q: limit: %v", key, e.Src, err)
		}
		d := Domain{Limit: most}
		if m["by"] != nil {
			d.Value = fmt.Sprint(m["by"])
		}
		out = append(out, d)
	}
	return out, nil
}
