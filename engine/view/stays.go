package view

import (
	"fmt"
	"io"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
)

// The lengths of the list of changes that stay: lines, hosts of a line and steps of a line.
// `deployer runs show` has all of them.
const (
	shownStays     = 10
	shownStayHosts = 8
	shownStaySteps = 5
)

// summarizeStays prints the changes that a run which did not complete leaves on hosts, one line
// for all hosts with the same steps.
func summarizeStays(w io.Writer, r *engine.Report) {
	type group struct {
		hosts, steps []string
	}
	stepsOf := map[string][]string{}
	for _, s := range r.Stays {
		for _, host := range s.Hosts {
			stepsOf[host] = append(stepsOf[host], s.Step)
		}
	}
	var groups []*group
	for _, h := range r.Hosts {
		steps := stepsOf[h.Host]
		if len(steps) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.steps, steps) })
		if i < 0 {
			groups = append(groups, &group{steps: steps})
			i = len(groups) - 1
		}
		groups[i].hosts = append(groups[i].hosts, h.Host)
	}
	if len(groups) == 0 {
		return
	}
	fmt.Fprintln(w, "STAYS  changes of this run that were not restored:")
	for _, g := range groups[:min(len(groups), shownStays)] {
		quoted := make([]string, len(g.steps))
		for i, s := range g.steps {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		fmt.Fprintf(w, "    %s: %s\n", shortlist.Names(g.hosts, shownStayHosts), shortlist.Texts(quoted, shownStaySteps))
	}
	if len(groups) > shownStays {
		var others []string
		for _, g := range groups[shownStays:] {
			others = append(others, g.hosts...)
		}
		fmt.Fprintf(w, "    and on %s\n", shortlist.Names(others, shownStayHosts))
	}
}
