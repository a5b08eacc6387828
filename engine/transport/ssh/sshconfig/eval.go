package sshconfig

import (
	"slices"
	"strings"
)

// Query says for whom the configuration is asked.
type Query struct {
	// Host is the host as it would be given to ssh(1).
	Host string
	// User is the login name if it is settled already; otherwise that of the
	// configuration counts, and then DefaultUser.
	User, DefaultUser string
	// LocalUser is who runs this program.
	LocalUser string
	// Home is that user's home directory.
	Home string
	// Exec answers Match exec: whether a command line ends well. Without it such
	// a condition is an error.
	Exec func(command string) (bool, error)
}

// Value is the arguments of a keyword and where they stand.
type Value struct {
	Args []string
	Pos  Pos
}

// Text is the first argument, empty when there is none.
func (v Value) Text() string {
	if len(v.Args) == 0 {
		return ""
	}
	return v.Args[0]
}

// Settings are what holds for a host: by keyword in lower case, the values in
// their order. Of a keyword that has one value the first counts.
type Settings map[string][]Value

// First returns the value that counts; its Args are empty when there is none.
func (s Settings) First(keyword string) Value {
	if all := s[strings.ToLower(keyword)]; len(all) > 0 {
		return all[0]
	}
	return Value{}
}

// Earliest returns the keyword that was given first, of those given at all.
func (s Settings) Earliest(keywords ...string) (keyword string, v Value) {
	for _, given := range s[order] {
		if k := given.Args[0]; slices.Contains(keywords, k) {
			return k, s[k][0]
		}
	}
	return "", Value{}
}

// order is where Settings keep the keywords in the order of their first values.
// No keyword has a space.
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

// evaluation is one walk through the lines.
type evaluation struct {
	q          Query
	settings   Settings
	final      bool // the second pass
	wantsFinal bool
}

// block walks lines of which the first ones hold if active is true, up to the
// next Host or Match.
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
		return // the second pass, or said twice
	}
	if have == nil {
		e.settings[order] = append(e.settings[order], Value{Args: []string{l.keyword}})
	}
	e.settings[l.keyword] = append(have, v)
}
