package report

import (
	"fmt"
	"slices"
	"strings"

	"deployer/ci/change"
	"deployer/inventory"
)

// Markdown returns the summary of a run for a merge request: all clusters side by
// side, findings, stages, then each distinct change with the clusters that it
// reaches, and the plans. The summary is at most maxSummary bytes long; the page of
// HTML has the parts that are left out.
func Markdown(r *Run) string {
	b := &summary{}
	subject := strings.ToValidUTF8(r.Subject[:min(len(r.Subject), maxSubject)], "")
	fmt.Fprintf(&b.b, "## deployer: %s\n\nRevision `%s`%s\n\n", r.Outcome, Short(r.Revision), cell(prefixed(" ", subject)))
	if r.Plan != "" {
		fmt.Fprintf(&b.b, "Plan of the push `%s`\n\n", r.Plan)
	}
	var rows []string
	for _, c := range r.Clusters {
		rows = append(rows, fmt.Sprintf("| %s | %s (`%s`) | %s | %d of %d | %s | %s |\n", cell(c.Environment), cell(c.Name), cell(c.Inventory), cell(kinds(c)), c.Touched, c.Hosts, gates(c), c.Outcome))
	}
	b.section("clusters", 3, "| Environment | Cluster | Change | Hosts touched | Gates | Outcome |\n|---|---|---|---|---|---|\n", rows...)
	rows = nil
	for _, f := range r.Findings() {
		rows = append(rows, fmt.Sprintf("- **%s** %s\n", f.Level, cell(f.String())))
	}
	b.section("findings", 3, "### Findings\n\n", rows...)
	rows = nil
	for _, s := range r.Stages {
		rows = append(rows, fmt.Sprintf("| %s | %s | %.1f | %s |\n", cell(s.Name), s.Outcome, s.Seconds, cell(s.Message)))
	}
	b.section("stages", 2, "| Stage | Outcome | Seconds | |\n|---|---|---|---|\n", rows...)
	rows = nil
	for _, g := range distinct(r.Clusters) {
		rows = append(rows, sharedChangeText(g))
	}
	b.section("changes", 2, "", rows...)
	b.plans(r.Clusters)
	return b.String()
}

func sharedChangeText(g sharedChange) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", cell(strings.Join(g.clusters, ", ")))
	for _, line := range g.lines {
		fmt.Fprintf(&b, "- %s\n", cell(line))
	}
	for _, step := range g.steps {
		fmt.Fprintf(&b, "    - `%s`\n", cell(step))
	}
	return b.String() + "\n"
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// cell returns a text as one cell of a table of Markdown, without markup of its own.
func cell(s string) string {
	s = strings.NewReplacer("\n", " ", "\r", " ", "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'").Replace(s)
	return s
}

// fenced returns a text as a block of code.
func fenced(text string) string { return fence(text) + "\n" + text + "\n" + fence(text) }

// fence returns a fence for a block of code that the text does not have.
func fence(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

func kinds(c *Cluster) string {
	all := c.Change.Kinds()
	words := make([]string, len(all))
	for i, k := range all {
		words[i] = string(k)
	}
	return strings.Join(words, ", ")
}

func commandLines(c *Cluster) []string {
	out := make([]string, len(c.Steps))
	for i, s := range c.Steps {
		out[i] = s.String()
	}
	return out
}

func gates(c *Cluster) string {
	count := map[string]int{}
	for _, f := range c.Findings {
		count[string(f.Level)]++
	}
	switch {
	case count["block"] > 0:
		return fmt.Sprintf("%d block", count["block"])
	case count["advise"] > 0:
		return fmt.Sprintf("%d advise", count["advise"])
	}
	return "pass"
}

// sharedChange is a change that one or more clusters have in common.
type sharedChange struct {
	clusters, lines, steps []string
}

// distinct groups clusters by their change, and leaves out clusters that do not change.
func distinct(clusters []*Cluster) []sharedChange {
	var out []sharedChange
	for _, c := range clusters {
		if c.Change.Nothing() {
			continue
		}
		lines, steps := Lines(c.Change), commandLines(c)
		i := slices.IndexFunc(out, func(g sharedChange) bool { return slices.Equal(g.lines, lines) && slices.Equal(g.steps, steps) })
		if i < 0 {
			out = append(out, sharedChange{nil, lines, steps})
			i = len(out) - 1
		}
		out[i].clusters = append(out[i].clusters, c.Name)
	}
	return out
}

// Lines returns a change as text, one line for each part.
func Lines(c change.Change) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case c.First:
		add("a new cluster")
	case c.Removed:
		add("the cluster is in no inventory any more")
	}
	for _, list := range []struct {
		verb  string
		hosts []change.HostRoles
	}{{"join", c.Joining}, {"leave", c.Leaving}, {"become minions", c.Demoted}, {"lose a role", c.Unsupported}, {"get another address", c.Readdressed}, {"may be left in the cluster", c.Stranded}} {
		byRoles, order := map[string][]string{}, []string{}
		for _, h := range list.hosts {
			roles := strings.Join(h.Roles, ", ")
			if byRoles[roles] == nil {
				order = append(order, roles)
			}
			byRoles[roles] = append(byRoles[roles], h.Host)
		}
		for _, roles := range order {
			add("%s: %s (%s)", list.verb, inventory.CompressText(byRoles[roles]), roles)
		}
	}
	for _, v := range c.Versions {
		add("%s: %s to %s", v.Component, v.From, v.To)
	}
	for _, s := range c.Settings {
		add("%s (%s)", s.Key, s.Pos)
	}
	byKey, order := map[string][]string{}, []string{}
	for _, s := range c.HostSettings {
		key := fmt.Sprintf("%s (%s)", s.Key, s.Pos)
		if byKey[key] == nil {
			order = append(order, key)
		}
		byKey[key] = append(byKey[key], s.Host)
	}
	for _, key := range order {
		add("%s: %s", inventory.CompressText(byKey[key]), key)
	}
	for _, r := range c.Playbooks {
		switch {
		case r.Differs && len(r.Hosts) > 0:
			add("playbook %s on %s", r.File, inventory.CompressText(r.Hosts))
		case r.Differs:
			add("playbook %s", r.File)
		}
	}
	return out
}
