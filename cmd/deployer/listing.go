package main

import (
	"fmt"
	"io"
	"strings"

	"deployer/engine/playbook"
	"deployer/inventory"
)

// printProgram prints what a run would go through: plays with their hosts, and
// their tasks in order, each with its place and tags.
func printProgram(w io.Writer, x *execution) error {
	for _, p := range x.program.Plays {
		matched, err := x.project.Match(p.Hosts)
		if err != nil {
			return usageError(fmt.Errorf("%s: hosts: %w", p.Pos, err))
		}
		hosts := intersect(x.hosts, matched)
		fmt.Fprintf(w, "play %s  (%s: %s)\n", p.Name, plural(len(hosts), "host"), dash(inventory.Compress(hosts)))
		for _, t := range x.program.Tasks {
			if t.Play == p {
				fmt.Fprintf(w, "  %s\n", describeTask(t))
			}
		}
	}
	return nil
}

func describeTask(t *playbook.Task) string {
	text := t.Name
	if t.Role != "" {
		text = t.Role + " : " + text
	}
	text += "  " + t.Pos.String()
	if len(t.Tags) > 0 {
		text += "  tags: " + strings.Join(t.Tags, ", ")
	}
	return text
}

// intersect keeps those of all that are in some, in the order of all.
func intersect(all, some []string) []string {
	in := make(map[string]bool, len(some))
	for _, s := range some {
		in[s] = true
	}
	var out []string
	for _, s := range all {
		if in[s] {
			out = append(out, s)
		}
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
