package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/test/bench/measure"
)

// times are the measured times, by tool and kind of run.
type times map[string]map[string][]time.Duration

func (t times) add(tool, kind string, took time.Duration) {
	if t[tool] == nil {
		t[tool] = map[string][]time.Duration{}
	}
	t[tool][kind] = append(t[tool][kind], took)
}

// median returns the median of the measured times in seconds, 0 without a
// measurement.
func (t times) median(tool, kind string) float64 {
	return measure.Median(t[tool][kind]).Seconds()
}

// summaryLine returns a line about one kind of run for scripts to parse: deployer's
// time divided by that of the script, and Ansible's and Mitogen's divided by
// deployer's.
func (t times) summaryLine(kind string) string {
	ours := t.median(toolDeployer, kind)
	return fmt.Sprintf("%s x_floor=%s x_ansible=%s x_mitogen=%s", kind, ratio(ours, t.median(toolFloor, kind)),
		ratio(t.median(toolAnsible, kind), ours), ratio(t.median(toolMitogen, kind), ours))
}

// ratio returns a/b, or "-" when one of the two was not measured.
func ratio(a, b float64) string {
	switch {
	case a == 0 || b == 0:
		return "-"
	case a/b >= 10:
		return fmt.Sprintf("%.0f", a/b)
	}
	return fmt.Sprintf("%.2f", a/b)
}

// table returns a table of all medians in seconds, with the minimum and the maximum.
func (t times) table(title string, tools []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s", title)
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %-24s", k.name)
	}
	for _, tool := range tools {
		fmt.Fprintf(&b, "\n%-10s", tool)
		for _, k := range kinds {
			if all := t[tool][k.name]; len(all) > 0 {
				fmt.Fprintf(&b, "  %-24s", fmt.Sprintf("%6.2f (%.2f to %.2f)", t.median(tool, k.name), slices.Min(all).Seconds(), slices.Max(all).Seconds()))
			}
		}
	}
	return b.String()
}
