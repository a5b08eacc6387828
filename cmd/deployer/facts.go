package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/jsontypes"
)

func newFactsCommand(e env) *cobra.Command {
	var o runOptions
	var gather []string
	cmd := &cobra.Command{
		Use:     "facts [PATTERN]",
		GroupID: "playbooks",
		Short:   "Show the facts of hosts",
		Long: `Facts connects to the hosts and shows the variable facts of each: distribution,
processors, memory, addresses. --gather adds more sets, as the module facts does.`,
		Example: `  deployer facts n1
  deployer facts minion --gather network,mounts -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completePattern),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "all"
			if len(args) > 0 {
				pattern = args[0]
			}
			task := map[string]any{"name": "facts", "facts": map[string]any{"gather": gather}}
			report, all, err := runTask(cmd, e, "facts", pattern, task, o)
			if err != nil {
				return err
			}
			if o.output == "json" {
				err = printJSON(e.stdout, factsByHost(all))
			} else {
				err = printFacts(e.stdout, all)
			}
			if err != nil {
				return err
			}
			return perHostOutcome(report)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().StringSliceVar(&gather, "gather", nil, "gather more `sets` of facts: hardware, mounts, network, packages, services")
	forksFlag(cmd, &o, "the inventory's, or 50")
	return cmd
}

// factsByHost returns the facts of each host, or the error of a host without facts.
func factsByHost(all []execResult) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		out[a.Host] = map[string]any(a.Output)
		if a.Status != engine.StatusOK {
			out[a.Host] = map[string]any{"error": a.Message}
		}
	}
	return out
}

func printFacts(w io.Writer, all []execResult) error {
	by := factsByHost(all)
	for _, a := range all {
		text, err := yaml.Marshal(jsontypes.Normalize(by[a.Host]))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "== %s\n%s", a.Host, text); err != nil {
			return err
		}
	}
	return nil
}
