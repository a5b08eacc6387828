package main

import (
	"fmt"
	"strings"

	"deployer/engine/program"
	"deployer/inventory"
	"deployer/runs"
	"deployer/shortlist"
)

// printProgram prints the plays of a run with their hosts, and their tasks in order,
// each with position and tags.
func printProgram(e env, r *runs.Run) error {
	printUnchecked(e, r)
	w := e.stdout
	for _, p := range r.Program.Plays {
		matched, err := r.Project.Match(p.Hosts)
		if err != nil {
			return usageError(fmt.Errorf("%s: hosts: %w", p.Pos, err))
		}
		hosts := intersect(r.Hosts, matched)
		fmt.Fprintf(w, "play %s  (%s: %s)\n", p.Name, shortlist.Count(len(hosts), "host"), dash(inventory.Compress(hosts)))
		for _, t := range r.Program.Tasks {
			if t.Play == p {
				fmt.Fprintf(w, "  %s\n", describeTask(t))
			}
		}
	}
	return nil
}

// printUnchecked prints what could not be checked without evaluating a lookup.
func printUnchecked(e env, r *runs.Run) {
	for _, note := range r.Program.Unchecked {
		fmt.Fprintf(e.stderr, "deployer: %v\n", note)
	}
}

func describeTask(t *program.Task) string {
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

// intersect returns the elements of all that are in some, in the order of all.
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
