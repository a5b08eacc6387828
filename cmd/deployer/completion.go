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
	"deployer/runs/history"
)

// completer returns the completions of a word for a shell.
type completer = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// firstArg limits a completer to the first argument.
func firstArg(of completer) completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return of(cmd, args, word)
	}
}

// completePattern completes hosts, groups and roles of the inventory of -i; in a
// pattern with commas it completes the last part. completePattern reads no files of variables, as
// these may need a passphrase.
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

// completeRuns completes ids of this machine's runs for which accept holds, the newest
// first, each with its verb and outcome.
func completeRuns(accept func(*journal.Record) bool) completer {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		dir, err := journal.Dir()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := journal.List(dir) // unreadable logs are skipped
		var out []string
		for _, r := range all {
			if strings.HasPrefix(r.Header.Run, word) && accept(r) {
				out = append(out, r.Header.Run+"\t"+newRunRow(&history.Entry{Record: r, Here: true}).Verb+" "+runName(r.Header.Invocation)+", "+string(r.Outcome))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func anyRun(*journal.Record) bool { return true }

func endedRun(r *journal.Record) bool { return r.Outcome != journal.Running }

// unfinishedRun reports whether resume accepts a run.
func unfinishedRun(r *journal.Record) bool {
	return endedRun(r) && !r.Finished() && runs.Resumable(r.Header.Invocation)
}
