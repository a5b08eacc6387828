package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/runs"
)

// rollbackOptions are the flags of rollback.
type rollbackOptions struct {
	revertOptions
	lowerMinor bool
}

func newRollbackCommand(e env) *cobra.Command {
	var o rollbackOptions
	cmd := &cobra.Command{
		Use:     "rollback [RUN]",
		GroupID: "cluster",
		Short:   "Take an upgrade back",
		Long: `Rollback restores the versions, manifests, units and configuration that an upgrade has
replaced, from what the hosts have kept: in reverse order, with the batches, drains and
gates of the upgrade. Without a run it takes back the newest upgrade of the inventory,
and an upgrade that was resumed with all its parts.

The data of etcd never changes. Rollback refuses to lower the minor version of API
servers, which may not read what the newer ones have stored; --lower-minor does it all
the same. It always refuses to lower the minor version of etcd. The snapshot that the
upgrade has saved is the way back then.

Set the older version in the inventory afterwards.`,
		Example: `  deployer rollback --check
  deployer rollback 20261121-1430 --yes`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(endedRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			var run string
			if len(args) > 0 {
				run = args[0]
			} else if run, err = runs.LastUpgrade(given.Inventory); err != nil {
				return err
			}
			return rollback(cmd.Context(), e, run, given, o)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be restored")
	f.BoolVarP(&o.diff, "diff", "D", false, "show diffs of files")
	f.BoolVar(&o.force, "force", false, "also restore resources that have changed since the upgrade")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.lowerMinor, "lower-minor", false, "lower the minor version of API servers, although they may not read what the newer ones have stored")
	return cmd
}

// rollback reverts an upgrade and the runs that it resumed, newest first.
func rollback(ctx context.Context, e env, run string, given runs.Options, o rollbackOptions) error {
	var lines []string
	for run != "" {
		back, err := newRunner(e).Rollback(run, runs.RevertOptions{Options: given, Force: o.force})
		if err != nil {
			return err
		}
		if o.output == "text" {
			for _, text := range back.Lowered {
				fmt.Fprintf(e.stdout, "irreversible: %s\n", text)
			}
		}
		if err := back.Refuse(o.lowerMinor); err != nil {
			return err
		}
		if err := revertRun(ctx, e, back.Revert, o.revertOptions); err != nil {
			return err
		}
		lines = append(lines, back.ID)
		run = back.ResumedFrom
	}
	if o.output == "text" && !o.Check && len(lines) > 0 {
		printRolledBack(e, given.Inventory)
	}
	return nil
}

// printRolledBack says where the inventory still has the newer version.
func printRolledBack(e env, file string) {
	p, err := loadCluster(file)
	if err != nil {
		return
	}
	if line, err := project.KubernetesLine(p.Inventory); err == nil && line.Version != "" {
		fmt.Fprintf(e.stdout, "%s: has kubernetes: %s; set the version that the cluster has again, or deployer install asks for the upgrade\n", line.Place, line.Version)
	}
}
