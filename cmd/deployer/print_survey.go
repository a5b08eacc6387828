package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"deployer/cluster/compare"
	"deployer/inventory"
)

// shownBroken is the maximum number of printed broken components.
const shownBroken = 40

// printSurvey prints what a survey found, one line for each kind of difference.
func printSurvey(w io.Writer, name string, r compare.Result) {
	state := string(r.State)
	if r.Reason != "" {
		state += ": " + r.Reason
	}
	fmt.Fprintf(w, "cluster %s: %s\n", name, strings.ReplaceAll(state, "\n", " "))
	line := func(text string, hosts []string) {
		if len(hosts) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", text, inventory.CompressText(hosts))
		}
	}
	line("to join", r.Joining)
	line("nodes that the inventory does not name", r.ExtraNodes)
	line("etcd members that the inventory does not name", r.ExtraMembers)
	line("cordoned", r.Cordoned)
	printLeftCordoned(w, r.LeftCordoned)
	printVersions(w, "older", r.Older)
	printVersions(w, "newer", r.Newer)
	printBroken(w, "broken", r.Broken)
	printBroken(w, "problems that no run repairs", r.Problems)
	printReplacements(w, r.Replacements)
	fmt.Fprintln(w)
}

// printLeftCordoned prints one line for all nodes that the same run has cordoned.
func printLeftCordoned(w io.Writer, list []compare.LeftCordoned) {
	var order []string
	hosts := map[string][]string{}
	for _, n := range list {
		if hosts[n.Run] == nil {
			order = append(order, n.Run)
		}
		hosts[n.Run] = append(hosts[n.Run], n.Host)
	}
	for _, run := range order {
		fmt.Fprintf(w, "  cordoned by run %s of deployer, which has not uncordoned them: %s\n", run, inventory.CompressText(hosts[run]))
	}
}

// printVersions prints one line for all hosts with the same component in the same
// version.
func printVersions(w io.Writer, word string, list []compare.Versioned) {
	var order []string
	hosts := map[string][]string{}
	for _, v := range list {
		text := fmt.Sprintf("%s %s, wanted %s", v.Component, v.Found, v.Wanted)
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], v.Host)
	}
	for _, text := range order {
		fmt.Fprintf(w, "  %s than the inventory says: %s: %s\n", word, text, inventory.CompressText(hosts[text]))
	}
	if word == "older" && len(list) > 0 {
		fmt.Fprintf(w, "    to upgrade: deployer apply --upgrade, or deployer upgrade with its options\n")
	}
}

func printBroken(w io.Writer, title string, list []compare.Broken) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "  %s:\n", title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, b := range list[:min(len(list), shownBroken)] {
		text := b.Detail
		if b.Fix != "" {
			text += "; " + b.Fix
		}
		fmt.Fprintf(table, "    %s\t%s\t%s\n", cmp.Or(b.Host, "cluster"), b.Component, strings.ReplaceAll(text, "\n", " "))
	}
	_ = table.Flush()
	if more := len(list) - shownBroken; more > 0 {
		fmt.Fprintf(w, "    and %d more\n", more)
	}
}

// printReplacements prints in which order broken machines may be replaced.
func printReplacements(w io.Writer, list []compare.Replacement) {
	var allowed []string
	for _, r := range list {
		if r.Blocked == "" {
			allowed = append(allowed, r.Host)
		}
	}
	if len(allowed) > 0 {
		fmt.Fprintf(w, "  machines that may be replaced, one at a time in this order: %s\n", strings.Join(allowed, ", "))
	}
	for _, r := range list {
		if r.Blocked != "" {
			fmt.Fprintf(w, "  %s must not be replaced now: %s\n", r.Host, r.Blocked)
		}
	}
}
