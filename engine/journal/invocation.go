package journal

import (
	"maps"
	"regexp"
	"slices"
)

// Invocation is what the user asked for, so that it can be asked for again. Paths are
// absolute.
type Invocation struct {
	Verb      string         `json:"verb"`
	Playbook  string         `json:"playbook,omitempty"` // empty for deployer's own
	Inventory string         `json:"inventory,omitempty"`
	Limit     string         `json:"limit,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	SkipTags  []string       `json:"skip_tags,omitempty"`
	StartAt   string         `json:"start_at,omitempty"` // the name of the first task
	Extra     map[string]any `json:"extra,omitempty"`    // variables of the command line
	// Withheld are the names of variables of the command line that are not
	// written down, because they look like secrets.
	Withheld []string `json:"withheld,omitempty"`
	// Prompted are those of Withheld that the playbook asked for, and asks for again.
	Prompted []string `json:"asked,omitempty"`
	Forks    int      `json:"forks,omitempty"`
	// Reverts is the run that a revert puts back, Force and Anyway are its flags.
	Reverts              string `json:"reverts,omitempty"`
	Force                bool   `json:"force,omitempty"`
	AllowChangedPlaybook bool   `json:"anyway,omitempty"`
	// LockHosts: only the hosts of the run were locked, not the masters.
	LockHosts bool `json:"lock_hosts,omitempty"`
}

// ToGive are the variables that must be given when the call is made again.
func (c Invocation) ToGive() []string {
	return slices.DeleteFunc(slices.Clone(c.Withheld), func(name string) bool { return slices.Contains(c.Prompted, name) })
}

// Same tells whether two calls are about the same playbook and inventory, with
// whatever options.
func (c Invocation) Same(other Invocation) bool {
	return c.Verb == other.Verb && c.Playbook == other.Playbook && c.Inventory == other.Inventory && c.Reverts == other.Reverts
}

// Covers tells whether a call does all that another one about the same does: it
// has no limit and leaves out no task, or it has the other's.
func (c Invocation) Covers(other Invocation) bool {
	covers := func(mine, others []string) bool { return len(mine) == 0 || slices.Equal(mine, others) }
	return c.Same(other) && (c.Limit == "" || c.Limit == other.Limit) && (c.StartAt == "" || c.StartAt == other.StartAt) &&
		covers(c.Tags, other.Tags) && covers(c.SkipTags, other.SkipTags)
}

// secretName matches names of variables whose values are not for others.
var secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|private_?key|api_?key`)

// LooksSecret tells whether a variable of that name is likely to hold a secret.
func LooksSecret(name string) bool { return secretName.MatchString(name) }

// SplitSecrets parts variables of the command line into those that may be written
// down and the names of those that may not: their names look like secrets, or
// clean would change a text in them.
func SplitSecrets(extra map[string]any, clean func(string) string) (open map[string]any, withheld []string) {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if secretIn(name, extra[name], clean) {
			withheld = append(withheld, name)
			continue
		}
		if open == nil {
			open = map[string]any{}
		}
		open[name] = extra[name]
	}
	return open, withheld
}

func secretIn(name string, value any, clean func(string) string) bool {
	if LooksSecret(name) {
		return true
	}
	switch v := value.(type) {
	case string:
		return clean(v) != v
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return secretIn("", e, clean) })
	case map[string]any:
		for key, e := range v {
			if secretIn(key, e, clean) {
				return true
			}
		}
	}
	return false
}
