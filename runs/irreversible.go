package runs

import (
	"regexp"
	"slices"
)

// Irreversible is a change that a revert cannot restore.
type Irreversible struct {
	Description string   `json:"what"`
	Hosts       []string `json:"hosts"`
	lasting     bool     // the state of hosts differs, or may differ, from the one before the run
}

// irreversibleList collects changes; hosts with the same change share an entry.
type irreversibleList struct{ all []Irreversible }

// add adds a change of a host. Texts that differ only in the name of their host share
// an entry, in which the name is HOST.
func (c *irreversibleList) add(host, what string, lasting bool) {
	i := slices.IndexFunc(c.all, func(one Irreversible) bool { return one.Description == what })
	if i < 0 {
		general := replaceHostname(what, host)
		i = slices.IndexFunc(c.all, func(one Irreversible) bool { return replaceHostname(one.Description, one.Hosts[0]) == general })
		if i >= 0 {
			c.all[i].Description = general
		}
	}
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, Irreversible{Description: what})
	}
	c.all[i].lasting = c.all[i].lasting || lasting
	if !slices.Contains(c.all[i].Hosts, host) {
		c.all[i].Hosts = append(c.all[i].Hosts, host)
	}
}

// replaceHostname replaces the host's name, as a whole word, by HOST.
func replaceHostname(text, host string) string {
	return regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllLiteralString(text, "HOST")
}
