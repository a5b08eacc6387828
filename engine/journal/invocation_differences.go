package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Differences returns the parts of a recorded invocation that are not those of the expected
// one, one line for each, such as `tags: want none, the record has ["wipe"]`; nil when both
// start the same work. It compares every field: a caller that accepts any value of a field,
// such as forks, copies the recorded value to want first.
//
// The record of a host is a claim. Whoever continues a run without a person who confirms its
// claims must know the invocation from a source that it trusts, and must compare it with the
// one that will be executed: the header after history.Relocate, whose paths are those of this
// machine, at the time of the resume itself, because a host may return another record later.
//
// Variables are compared by value, in the types of JSON: 7 and "7" differ. Withheld variables
// have no value in a record, and only their names are compared. Lines are safe to print.
func (c Invocation) Differences(want Invocation) []string {
	var out []string
	differ := func(field string, recorded, expected any) {
		if now, then := fieldText(recorded), fieldText(expected); now != then {
			out = append(out, fmt.Sprintf("%s: want %s, the record has %s", field, then, now))
		}
	}
	differ("verb", c.Verb, want.Verb)
	differ("playbook", c.Playbook, want.Playbook)
	differ("inventory", c.Inventory, want.Inventory)
	differ("limit", c.Limit, want.Limit)
	differ("tags", c.Tags, want.Tags)
	differ("skipped tags", c.SkipTags, want.SkipTags)
	differ("first task", c.StartAt, want.StartAt)
	for _, name := range unionOfNames(c.Extra, want.Extra) {
		differ("variable "+ValueText(name), memberOf(c.Extra, name), memberOf(want.Extra, name))
	}
	differ("withheld variables", sorted(c.Withheld), sorted(want.Withheld))
	differ("prompted variables", sorted(c.Prompted), sorted(want.Prompted))
	differ("forks", c.Forks, want.Forks)
	differ("reverted run", c.Reverts, want.Reverts)
	differ("--force", c.Force, want.Force)
	differ("--allow-changed-playbook", c.AllowChangedPlaybook, want.AllowChangedPlaybook)
	differ("--lower-minor", c.LowerMinor, want.LowerMinor)
	differ("Kubernetes version", c.Kubernetes, want.Kubernetes)
	differ("--lock hosts", c.LockHosts, want.LockHosts)
	differ("joining hosts", c.Joining, want.Joining)
	differ("leaving hosts", c.Leaving, want.Leaving)
	differ("dead hosts", c.Dead, want.Dead)
	differ("leaving hosts stay as minions", c.KeepNodes, want.KeepNodes)
	return out
}

// absent is the value of a variable that an invocation does not have.
type absent struct{}

// memberOf returns a variable; absent{} when there is none.
func memberOf(vars map[string]any, name string) any {
	if v, ok := vars[name]; ok {
		return v
	}
	return absent{}
}

// fieldText returns a value for a message: as JSON, or "none".
func fieldText(v any) string {
	if _, none := v.(absent); none {
		return "none"
	}
	if list, is := v.([]string); is && len(list) == 0 {
		return "none"
	}
	return ValueText(v)
}

// ValueText returns the value of a variable as one line of JSON, in which no control
// character stands for itself. Equal values have equal texts, whether they come from a flag or
// from JSON.
func ValueText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v)) // of no type of JSON
	}
	return escapeUnprintable(strings.TrimSuffix(b.String(), "\n"))
}

// escapeUnprintable escapes the characters that JSON leaves as they are and terminals obey:
// DEL, controls of C1, and marks that change the direction of text.
func escapeUnprintable(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unprintable(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func unionOfNames(a, b map[string]any) []string {
	var out []string
	for name := range a {
		out = append(out, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}
