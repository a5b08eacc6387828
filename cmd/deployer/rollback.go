package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"deployer/operations"
	"deployer/project"
	"deployer/runs"
	"deployer/shellquote"
	"deployer/tasks/control/upgrade"
)

func newRollbackCommand(e env) *cobra.Command {
	var o revertOptions
	var lowerMinor, print bool
	var drain string
	var step ciStep
	cmd := &cobra.Command{
		Use:     "rollback [RUN]",
		GroupID: "cluster",
		Short:   "Roll back an upgrade",
		Long: `Rollback restores the versions, manifests, units and configuration that an
upgrade has replaced, from the backups of the hosts: in reverse order, with the batches,
drains and gates of the upgrade. Without a run it reverts the newest upgrade of the
inventory that has changed something. When that upgrade was started several times, after
an interruption, a failure, or in parts with --only, all these runs are reverted, so that
the cluster has the versions from before the first of them. An upgrade that had completed
before it stays.

Hosts that are down stay as they are (exit code 3); run rollback again when they answer.
Rollback refuses when etcd would lose its quorum meanwhile. A master that fails in the
rollback ends it, and so do more minions than --max-fail of the upgrade allows.

The data of etcd never changes. Rollback refuses to lower the minor version of API
servers, which may not read what the newer ones have stored; --lower-minor allows it. It
always refuses to lower the minor version of etcd; restore the snapshot that the upgrade
has saved instead.

Where no API server answers, --drain never restores hosts without moving their pods.

On another machine than the one of the upgrade, rollback reads the record that hosts of
the inventory keep of it, with --from-hosts or when this machine has no upgrade of the
inventory. deployer resume continues an interrupted rollback.

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
			if cmd.Flags().Changed("drain") {
				given.Extra = map[string]any{"upgrade_drain": drain}
			}
			o.from.Inventory, o.from.Prompt = o.Inventory, o.Prompt
			runner, err := o.from.openFor(cmd.Context(), e, o.from.Upgrade(strings.Join(args, "")))
			if err != nil {
				return err
			}
			defer runner.History.Close()
			if print {
				return printUpgrade(e.stdout, runner, given)
			}
			parts, err := runner.Rollback(strings.Join(args, ""), runs.RevertOptions{Options: given, Force: o.force, LowerMinor: lowerMinor})
			operator := newConsole(e, o.runOptions, o.yes).operator(runner)
			if err := firstError(operator.ShowLowered(parts), err); err != nil {
				return err
			}
			parts = step.only(parts)
			review := fmt.Sprintf("deployer rollback %s -i %s --from-hosts", parts[0].ID, shellquote.Word(o.Inventory))
			if err := step.requireUpgrades(parts, review); err != nil {
				return err
			}
			worked, err := operator.Rollback(cmd.Context(), parts, o.Inventory, operations.RevertOptions{Check: o.Check})
			if before := runner.UpgradeBefore(parts); err == nil && !worked && len(args) == 0 && before != "" {
				return &exitError{exitRefused, fmt.Errorf("nothing was changed: the newest upgrade, run %s, has left no changes to roll back; to roll back the upgrade before it, run: deployer rollback %s", parts[0].ID, before)}
			}
			return err
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be restored")
	f.BoolVarP(&o.diff, "diff", "D", false, "show diffs of files")
	f.BoolVar(&o.force, "force", false, "also restore resources that have changed since the upgrade")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	o.from.fromHostsFlag(cmd)
	step.flag(cmd)
	printUpgradeFlag(cmd, &print)
	f.Var(&enumFlag{&drain, []string{upgrade.DrainAlways, upgrade.DrainNever}}, "drain",
		"move pods to other nodes first, always or never; by default as the upgrade did, and for another minor version")
	f.BoolVar(&lowerMinor, "lower-minor", false, "lower the minor version of API servers, although they may not read what the newer ones have stored")
	return cmd
}

// printRolledBack prints the place at which the inventory still has the newer version. to is the version of
// upgrade --to, empty for that of the inventory; another one was never in the inventory.
func printRolledBack(e env, file, to string) {
	p, err := loadCluster(file)
	if err != nil {
		return
	}
	if line, err := project.KubernetesLine(p.Inventory); err == nil && line.Version != "" && (to == "" || to == line.Version) {
		fmt.Fprintf(e.stdout, "%s: has kubernetes: %s; set the version that the cluster has again, or deployer install asks for the upgrade\n", line.Place, line.Version)
	}
}
