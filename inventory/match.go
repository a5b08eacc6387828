package inventory

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"deployer/strictyaml"
)

// Match returns the hosts that match a pattern, in the order of the file; see the
// function Match. Groups and roles are those of Table.
func (inv *Inventory) Match(pattern string) ([]string, error) {
	return Match(pattern, inv.Names(), inv.Table())
}

// Match returns the names in hosts, in their order, that match a pattern. A pattern is a
// list of terms with commas or colons between them: names, ranges n[1:3], globs n*, and
// keys of groups. A term with & keeps only its hosts, a term with ! removes its hosts:
// "minion:!rack1" matches the minions outside of rack1. As in Ansible, plain terms are
// joined first, then & narrows, then ! removes, in any order; without a plain term all
// hosts are the start. "all" is every host.
//
// An unknown term is an error, so that a typo never makes a run do nothing. A group
// without hosts and a pattern without hosts are valid.
func Match(pattern string, hosts []string, groups map[string][]string) ([]string, error) {
	m := matcher{hosts: hosts, groups: groups, index: make(map[string]int, len(hosts))}
	for i, h := range hosts {
		m.index[h] = i
	}
	var plain, keep, drop []members
	for _, term := range splitOutside(pattern, ",:") {
		term = strings.TrimSpace(term)
		list := &plain
		switch {
		case term == "":
			continue
		case term[0] == '!':
			list, term = &drop, strings.TrimSpace(term[1:])
		case term[0] == '&':
			list, term = &keep, strings.TrimSpace(term[1:])
		}
		set, err := m.term(term)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		*list = append(*list, set)
	}
	if len(plain)+len(keep)+len(drop) == 0 {
		return nil, errors.New("the pattern of hosts is empty; all matches every host")
	}
	return m.combine(plain, keep, drop), nil
}

type matcher struct {
	hosts  []string
	groups map[string][]string
	index  map[string]int
}

func (m *matcher) combine(plain, keep, drop []members) []string {
	var out []string
	in := func(i int) func(members) bool { return func(s members) bool { return s[i] } }
	for i, h := range m.hosts {
		switch {
		case len(plain) > 0 && !slices.ContainsFunc(plain, in(i)):
		case slices.ContainsFunc(keep, func(s members) bool { return !s[i] }):
		case slices.ContainsFunc(drop, in(i)):
		default:
			out = append(out, h)
		}
	}
	return out
}

// term returns the hosts of one term.
func (m *matcher) term(term string) (members, error) {
	out := make(members, len(m.hosts))
	if group, ok := m.groups[term]; ok || term == "all" {
		if !ok {
			group = m.hosts
		}
		for _, h := range group {
			if i, ok := m.index[h]; ok {
				out[i] = true
			}
		}
		return out, nil
	}
	if strings.ContainsAny(term, "*?") {
		return out, m.glob(term, out)
	}
	names, err := Expand(term)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i, ok := m.index[name]
		if !ok {
			known := append(slices.Sorted(maps.Keys(m.groups)), m.hosts...)
			return nil, fmt.Errorf("there is no host or group %q%s", name, strictyaml.DidYouMean(name, known))
		}
		out[i] = true
	}
	return out, nil
}

func (m *matcher) glob(term string, out members) error {
	found := false
	for i, h := range m.hosts {
		ok, err := path.Match(term, h)
		if err != nil {
			return fmt.Errorf("%q is no pattern of names: %w", term, err)
		}
		out[i] = ok
		found = found || ok
	}
	if !found {
		return fmt.Errorf("no host has a name like %q", term)
	}
	return nil
}

func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
