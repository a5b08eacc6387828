package main

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/journal"
	"deployer/inventory"
	"deployer/project"
	"deployer/runs"
)

// completer proposes what a shell may write for a word.
type completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// ofFirst has a completer for the first argument only.
func ofFirst(of completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return of(cmd, args, word)
	}
}

// completePattern proposes the hosts, groups and roles of the inventory that -i
// names. Of a pattern with commas the last part is completed. Nothing is asked
// for, so files of variables are not opened.
func completePattern(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	path := cmd.Flag("inventory").Value.String()
	if path == "" {
		path = project.DefaultInventory
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	inv, err := inventory.Parse(path, data)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := word[:strings.LastIndexAny(word, ",!&")+1]
	var out []string
	sets := inv.Table()
	maps.DeleteFunc(sets, func(_ string, hosts []string) bool { return len(hosts) == 0 })
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(sets)), inv.Names()) {
		if proposed := before + name; strings.HasPrefix(proposed, word) {
			out = append(out, proposed)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRuns proposes the runs of this machine that may be meant, the newest
// first, each with what it was.
func completeRuns(may func(*journal.Record) bool) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		dir, err := journal.Dir()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := journal.List(dir) // those that can be read will do
		var out []string
		for _, r := range all {
			if strings.HasPrefix(r.Header.Run, word) && may(r) {
				out = append(out, r.Header.Run+"\t"+listedRun(r).Verb+" "+runName(r.Header.Invocation)+", "+string(r.Outcome))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func anyRun(*journal.Record) bool { return true }

func endedRun(r *journal.Record) bool { return r.Outcome != journal.Running }

// unfinishedRun is one that resume takes.
func unfinishedRun(r *journal.Record) bool {
	return endedRun(r) && !r.Finished() && runs.Resumable(r.Header.Invocation)
}
