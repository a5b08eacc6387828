package journal

import (
	"maps"
	"regexp"
	"slices"
)

// Invocation is the command that started a run, so that it can be repeated. Paths
// are absolute.
type Invocation struct {
	Verb      string         `json:"verb"`
	Playbook  string         `json:"playbook,omitempty"` // empty for a playbook of deployer's own
	Inventory string         `json:"inventory,omitempty"`
	Limit     string         `json:"limit,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	SkipTags  []string       `json:"skip_tags,omitempty"`
	StartAt   string         `json:"start_at,omitempty"` // the name of the first task
	Extra     map[string]any `json:"extra,omitempty"`    // variables of the command line
	// Withheld are the names of command-line variables that are not stored, because they
	// look like secrets.
	Withheld []string `json:"withheld,omitempty"`
	// Prompted are the names in Withheld that the playbook prompts for.
	Prompted []string `json:"asked,omitempty"`
	Forks    int      `json:"forks,omitempty"`
	// Reverts is the run that a revert or rollback reverts; Force, AllowChangedPlaybook and
	// LowerMinor are flags of it.
	Reverts              string `json:"reverts,omitempty"`
	Force                bool   `json:"force,omitempty"`
	AllowChangedPlaybook bool   `json:"anyway,omitempty"`
	LowerMinor           bool   `json:"lower_minor,omitempty"`
	// Kubernetes is the version that the command line named instead of the inventory's.
	Kubernetes string `json:"kubernetes,omitempty"`
	// LockHosts is true when only the hosts of the run were locked, not the guards.
	LockHosts bool `json:"lock_hosts,omitempty"`
	// Joining, Leaving and Dead are the hosts that the verb adds to the cluster, takes out
	// of it, or lets it forget.
	Joining []string `json:"joining,omitempty"`
	Leaving []string `json:"leaving,omitempty"`
	Dead    []string `json:"dead,omitempty"`
	// KeepNodes is true when the hosts of Leaving stay in the cluster in another role.
	KeepNodes bool `json:"keep_nodes,omitempty"`
}

// ToGive returns the names of the variables that the user must give to repeat the
// invocation.
func (c Invocation) ToGive() []string {
	return slices.DeleteFunc(slices.Clone(c.Withheld), func(name string) bool { return slices.Contains(c.Prompted, name) })
}

// Same reports whether two invocations have the same verb, playbook, inventory, reverted
// run, and hosts that join or leave, with any options.
func (c Invocation) Same(other Invocation) bool {
	return c.Verb == other.Verb && c.Playbook == other.Playbook && c.Inventory == other.Inventory && c.Reverts == other.Reverts &&
		slices.Equal(c.Joining, other.Joining) && slices.Equal(c.Leaving, other.Leaving) && slices.Equal(c.Dead, other.Dead) && c.KeepNodes == other.KeepNodes
}

// Covers reports whether an invocation does everything that another one does: it is
// the Same with the same version, and each of its limit, tags and start is absent or
// equal to the other's.
func (c Invocation) Covers(other Invocation) bool {
	covers := func(mine, others []string) bool { return len(mine) == 0 || slices.Equal(mine, others) }
	return c.Same(other) && c.Kubernetes == other.Kubernetes && (c.Limit == "" || c.Limit == other.Limit) && (c.StartAt == "" || c.StartAt == other.StartAt) &&
		covers(c.Tags, other.Tags) && covers(c.SkipTags, other.SkipTags)
}

// secretName matches names of variables that are likely to hold secrets.
var secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|private_?key|api_?key`)

// LooksSecret reports whether a variable with that name is likely to hold a secret.
func LooksSecret(name string) bool { return secretName.MatchString(name) }

// SplitSecrets splits command-line variables into those that may be stored and the
// names of those that may not: their names look like secrets, or clean, which
// replaces known secrets, would change a text in them.
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
