package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/shellquote"
)

// Claims lists what the record of a host adds to inventory and playbook, in words for a
// person who confirms them: a selection of hosts or tasks, variables of the command line that
// are not given again with the same value, verbs that no playbook of the user has, flags, and
// pauses that the run would pass. Each claim is one line without control characters.
func (e *Entry) Claims(given map[string]any) []string {
	c := e.Header.Invocation
	out := slices.Concat(verbClaims(c), groupClaims(c), variableClaims(c, given), restoreClaims(c, given))
	for _, option := range []struct {
		flag   string
		values []string
	}{{"limit", nonEmpty(c.Limit)}, {"tags", c.Tags}, {"skip-tags", c.SkipTags}, {"start-at", nonEmpty(c.StartAt)}, {"to", nonEmpty(c.Kubernetes)}} {
		if len(option.values) > 0 {
			out = append(out, "--"+option.flag+" "+valueText(strings.Join(option.values, ",")))
		}
	}
	if c.Forks > 0 {
		out = append(out, fmt.Sprintf("--forks %d", c.Forks))
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"force", c.Force}, {"lower-minor", c.LowerMinor}, {"allow-changed-playbook", c.AllowChangedPlaybook}} {
		if flag.set {
			out = append(out, "--"+flag.name)
		}
	}
	if e.Report != nil && len(e.Report.Paused) > 0 && c.Verb != journal.VerbRevert {
		out = append(out, "it has paused after the canaries of "+lineOf(e.Report.Paused)+", and does not pause there again")
	}
	return out
}

// OriginalClaims lists what the record of a run adds to a revert of it: the variables with
// which its program is made again, and its version of Kubernetes.
func (e *Entry) OriginalClaims(known map[string]any) []string {
	c := e.Header.Invocation
	out := variableClaims(c, known)
	if c.Kubernetes != "" {
		out = append(out, "--to "+valueText(c.Kubernetes))
	}
	return out
}

// verbClaims returns the claim of a verb other than install and run.
func verbClaims(c journal.Invocation) []string {
	switch c.Verb {
	case journal.VerbInstall, journal.VerbRun:
		return nil
	case journal.VerbRevert:
		return []string{"it reverts run " + valueText(c.Reverts)}
	}
	return []string{"it is deployer " + valueText(c.Verb)}
}

// restoreClaims returns what a record of a restore of etcd claims by leaving a variable out: its
// playbooks then go on as runs of versions that did not know the variable.
func restoreClaims(c journal.Invocation, given map[string]any) []string {
	if c.Verb != journal.VerbEtcdRestore && c.Verb != journal.VerbEtcdRestoreHosts {
		return nil
	}
	var out []string
	for _, variable := range []struct{ name, without string }{
		{"etcd_restore_unauthenticated", "it accepts a backup that nothing proves to be the cluster's"},
		{"etcd_restore_sha256", "it accepts any content of the snapshot"},
		{"etcd_restore_keys_stored", "it takes the keys for the user's own, not for those of a store"},
		{"etcd_restore_keys_sha256", "it accepts any file with keys"},
	} {
		_, recorded := c.Extra[variable.name]
		_, again := given[variable.name]
		if keysOnly := strings.HasPrefix(variable.name, "etcd_restore_keys_"); !recorded && !again && (!keysOnly || c.Verb == journal.VerbEtcdRestoreHosts) {
			out = append(out, fmt.Sprintf("%s (no %s)", variable.without, variable.name))
		}
	}
	return out
}

// groupClaims returns the hosts that the run adds to the cluster or takes out of it, whatever its
// verb: a run of any verb has these groups.
func groupClaims(c journal.Invocation) []string {
	var out []string
	for _, group := range []struct {
		name  string
		hosts []string
	}{{"joining", c.Joining}, {"leaving", c.Leaving}, {"dead", c.Dead}} {
		if len(group.hosts) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", group.name, lineOf(group.hosts)))
		}
	}
	if c.KeepNodes {
		out = append(out, "the leaving hosts stay as minions")
	}
	return out
}

// flagVariables are the variables of deployer's own playbooks that stand for a flag. False is
// the flag that was not given.
var flagVariables = []string{"new_encryption_key", "wipe", "etcd_defrag_all", "etcd_restore_ignore_keys", "upgrade_pause"}

func variableClaims(c journal.Invocation, given map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.Extra)) {
		value := c.Extra[name]
		if c.Playbook == "" && value == false && slices.Contains(flagVariables, name) {
			continue
		}
		if again, ok := given[name]; !ok || journal.ValueText(again) != journal.ValueText(value) {
			out = append(out, "-e "+valueText(name)+"="+valueText(value))
		}
	}
	return out
}

// valueText returns a value as one line: a plain word as it is, anything else as JSON.
func valueText(v any) string {
	if text, ok := v.(string); ok && shellquote.Word(text) == text {
		return text
	}
	return journal.ValueText(v)
}

// lineOf returns names as one line.
func lineOf(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = valueText(name)
	}
	return strings.Join(out, ", ")
}

// nonEmpty returns a text as a list; none for an empty one.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
