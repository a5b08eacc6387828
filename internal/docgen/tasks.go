package docgen

import (
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/strictyaml"
)

// Tasks returns the page of all kinds of task.
func Tasks(r engine.Registry) string {
	var b strings.Builder
	b.WriteString(generated("Tasks", "the types that hold their arguments"))
	b.WriteString(`
The modules of playbooks and their arguments. A key that is not listed is an error, reported before any host is contacted.
Values may contain expressions. A value outside of the set, grammar or range of its argument is an error before any host is
contacted when it is known by then. Numbers and durations are not negative.

- **on the host**: the agent executes the task on the host.
- **on the host, prepared**: the controller prepares the content (a template, a file, an artifact); the agent does the rest.
- **on the controller**: deployer executes the task on behalf of the host, over the host's SSH connection if necessary.

Each task checks the present state first and changes only what differs; ` + "`--check`" + ` shows what would change.
`)
	b.WriteString("\n| Task | Runs | What it does |\n|---|---|---|\n")
	for _, name := range r.Names() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", name, name, WhereItRuns(r[name]), cell(r[name].Doc))
	}
	for _, name := range r.Names() {
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		writeKind(&b, r[name])
	}
	return b.String()
}

// writeKind writes the reference of one kind of task.
func writeKind(b *strings.Builder, k engine.Kind) {
	fmt.Fprintf(b, "%s Runs %s.\n\n", Sentence(k.Doc), WhereItRuns(k))
	keys := strictyaml.Describe(k.New())
	if len(keys) == 0 {
		b.WriteString("It takes no arguments.\n")
	} else {
		b.WriteString("| Argument | Type | | What it is |\n|---|---|---|---|\n")
	}
	for _, key := range keys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key.Path, cell(KeyType(key)), RequiredWord(key), cell(capital(key.Doc)))
	}
	fmt.Fprintf(b, "\nTime limit: %s\n", TimeLimit(k))
	if k.Example != "" {
		fmt.Fprintf(b, "\n```yaml\n%s```\n", k.Example)
	}
}

// TimeLimit describes the time limit of a kind.
func TimeLimit(k engine.Kind) string {
	limit := k.EffectiveTimeLimit()
	if limit == 0 {
		return "none, as the arguments limit the wait; the task's timeout limits each attempt."
	}
	return fmt.Sprintf("%d h for each attempt; the task's timeout overrides it, 0 means none.", limit/time.Hour)
}

// KeyType returns the type of an argument with its permitted values: a closed set, a grammar
// or a range.
func KeyType(k strictyaml.Key) string {
	one := k.Type == "text"
	switch {
	case len(k.Enum) > 0 && one:
		return oneOf(k.Enum)
	case len(k.Enum) > 0:
		return k.Type + ", each " + oneOf(k.Enum)
	case k.Range != "":
		return k.Type + " " + k.Range
	case k.Values != "" && one:
		return "text: " + k.Values
	case k.Values != "" && k.Keys != "":
		return k.Type + ", each " + k.Values + "; keys: " + k.Keys
	case k.Values != "":
		return k.Type + ", each " + k.Values
	case k.Keys != "":
		return k.Type + "; keys: " + k.Keys
	}
	return k.Type
}

// RequiredWord returns "required" for a required argument.
func RequiredWord(k strictyaml.Key) string {
	if k.Required {
		return "required"
	}
	return ""
}

// WhereItRuns returns where a kind of task runs.
func WhereItRuns(k engine.Kind) string {
	switch k.New().(type) {
	case engine.Module:
		return "on the host"
	case engine.Preparer:
		return "on the host, prepared"
	}
	return "on the controller"
}
