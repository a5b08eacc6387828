package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/strictyaml"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	inventory string
	nodes     int // 0 for the inventory's
	all       bool
	output    string
}

func newExplainCommand(e env) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:     "explain [SETTING...]",
		GroupID: "input",
		Short:   "Explain the settings that depend on the size of the cluster",
		Long: `Explain shows each setting that depends on the number of nodes: its value, the default of the
component that it replaces, the reason, the source of the rule, and the key of the inventory
that sets another value. Without SETTING it lists the settings that differ from the default
of their component, with --all every one. --nodes answers for another number of nodes, without
an inventory. Explain contacts no host.`,
		Example: `  deployer explain
  deployer explain dns.replicas
  deployer explain --nodes 1000 --all`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if o.nodes != 0 && cmd.Flags().Changed("inventory") {
				return usageError(errors.New("--nodes answers without an inventory: leave out -i"))
			}
			c, err := o.cluster()
			if err != nil {
				return err
			}
			found, err := o.choose(c.Explain(), names)
			if err != nil {
				return usageError(err)
			}
			switch {
			case o.output == "json":
				return printJSON(e.stdout, found)
			case len(names) > 0:
				return printExplanations(e.stdout, found)
			}
			return printExplained(e.stdout, c, found)
		},
		ValidArgsFunction: completeSetting,
	}
	inventoryFlag(cmd, &o.inventory)
	cmd.Flags().IntVar(&o.nodes, "nodes", 0, "explain a cluster of this number of nodes with nothing but defaults, 1 to 5000")
	cmd.Flags().BoolVar(&o.all, "all", false, "list settings with the default of their component, too")
	outputFlag(cmd, &o.output, "table", "json")
	return cmd
}

// cluster returns the cluster that is explained.
func (o explainOptions) cluster() (*cluster.Cluster, error) {
	if o.nodes != 0 {
		c, err := cluster.WhatIf(o.nodes)
		if err != nil {
			return nil, usageError(fmt.Errorf("--nodes: %w", err))
		}
		return c, nil
	}
	p, err := loadCluster(o.inventory)
	if err != nil {
		return nil, err
	}
	return p.Cluster, nil
}

// choose returns the explanations of settings by their names; without names those that differ from
// the default, or all.
func (o explainOptions) choose(all []cluster.Explanation, names []string) ([]cluster.Explanation, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(x cluster.Explanation) bool { return !o.all && x.IsDefault() }), nil
	}
	var out []cluster.Explanation
	for _, name := range names {
		i := slices.IndexFunc(all, func(x cluster.Explanation) bool { return x.Setting == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no setting %q that depends on the size of this cluster%s; deployer explain --all lists them", name, strictyaml.DidYouMean(name, settingNames(all)))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func settingNames(all []cluster.Explanation) []string {
	var out []string
	for _, x := range all {
		out = append(out, x.Setting)
	}
	return out
}

// completeSetting completes the names of settings for the shell.
func completeSetting(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := cluster.WhatIf(1)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return settingNames(c.Explain()), cobra.ShellCompDirectiveNoFileComp
}

// printExplained prints a line for each setting.
func printExplained(w io.Writer, c *cluster.Cluster, all []cluster.Explanation) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "every setting has the default of its component in a cluster of this size (%d nodes); --all lists them\n", c.Size.Nodes)
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tDEFAULT\tREASON")
	for _, x := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", x.Setting, x.Value, x.Default, x.Reason)
	}
	return table.Flush()
}

// printExplanations prints everything about settings.
func printExplanations(w io.Writer, all []cluster.Explanation) error {
	var b strings.Builder
	for i, x := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n  default:   %s\n  reason:    %s\n  source:    %s\n  set with:  %s\n", x.Setting, x.Value, x.Default, x.Reason, x.Source, x.Override)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
