package sshconfig

import (
	"slices"
	"strings"
)

// Query describes the connection for which the configuration is evaluated.
type Query struct {
	// Host is the host as an argument of ssh(1).
	Host string
	// User is the login name when it is known; otherwise that of the configuration counts,
	// then DefaultUser.
	User, DefaultUser string
	// LocalUser is the user who runs this program.
	LocalUser string
	// Home is the home directory of LocalUser.
	Home string
	// Exec evaluates Match exec: it reports whether a command line succeeds. Without Exec
	// such a condition is an error.
	Exec func(command string) (bool, error)
}

// Value is the arguments of a keyword with their place.
type Value struct {
	Args []string
	Pos  Pos
}

// Text returns the first argument, empty when there is none.
func (v Value) Text() string {
	if len(v.Args) == 0 {
		return ""
	}
	return v.Args[0]
}

// Settings are the settings of a host: the values in their order, by keyword in lower
// case. For a keyword with a single value the first one counts.
type Settings map[string][]Value

// First returns the effective value; its Args are empty when there is none.
func (s Settings) First(keyword string) Value {
	if all := s[strings.ToLower(keyword)]; len(all) > 0 {
		return all[0]
	}
	return Value{}
}

// Earliest returns the given keyword whose value comes first, among those with a value.
func (s Settings) Earliest(keywords ...string) (keyword string, v Value) {
	for _, given := range s[order] {
		if k := given.Args[0]; slices.Contains(keywords, k) {
			return k, s[k][0]
		}
	}
	return "", Value{}
}

// order is the key of Settings with the keywords in the order of their first values; the
// space keeps it apart from keywords.
const order = "the order"

// For evaluates the configuration for a host.
func (c *Config) For(q Query) (Settings, error) {
	e := &evaluation{q: q, settings: Settings{}}
	if err := e.block(c.lines, true); err != nil {
		return nil, err
	}
	if e.wantsFinal {
		e.final = true
		if err := e.block(c.lines, true); err != nil {
			return nil, err
		}
	}
	return e.settings, nil
}

// evaluation is one pass over the lines.
type evaluation struct {
	q          Query
	settings   Settings
	final      bool // the second pass
	wantsFinal bool
}

// block processes lines, of which the first ones apply if active is true, up to the next
// Host or Match.
func (e *evaluation) block(lines []line, active bool) error {
	outer := active
	for _, l := range lines {
		var err error
		switch {
		case l.keyword == "include":
			err = e.block(l.included, active)
		case l.keyword == "host":
			active = outer && matchList(l.args, e.q.Host)
		case l.keyword == "match":
			active = false
			if outer {
				active, err = e.match(l)
			}
		case active:
			e.add(l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) add(l line) {
	v := Value{Args: l.args, Pos: l.pos}
	have := e.settings[l.keyword]
	if slices.ContainsFunc(have, func(h Value) bool { return slices.Equal(h.Args, v.Args) }) {
		return // the second pass, or a repeated line
	}
	if have == nil {
		e.settings[order] = append(e.settings[order], Value{Args: []string{l.keyword}})
	}
	e.settings[l.keyword] = append(have, v)
}
