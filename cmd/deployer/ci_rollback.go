package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/ci/change"
	"deployer/engine/journal"
	"deployer/operations"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/tasks/control/upgrade"
)

// printUpgradeFlag adds --print-upgrade, which only deployer ci sets: the name of the upgrade is
// written down before the rollback starts.
func printUpgradeFlag(cmd *cobra.Command, set *bool) {
	cmd.Flags().BoolVar(set, "print-upgrade", false, "print the runs of the upgrade to the versions of the inventory, and change nothing; set by deployer ci")
	_ = cmd.Flags().MarkHidden("print-upgrade") // it fails only for an unknown flag
}

// printUpgrade prints the ids of the runs of the upgrade by which the cluster got the versions of
// the inventory, each on a line, the newest first.
func printUpgrade(w io.Writer, runner runs.Runner, given runs.Options) error {
	ids, err := runner.UpgradeToVersions(given)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, strings.Join(ids, "\n"))
	return err
}

// upgrade returns the runs that the step of a rollback names; none for other steps.
func (step ciStep) upgrade() []string {
	if step.verb() != change.VerbRollback {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(step[1:]), func(word string) bool { return strings.HasPrefix(word, "-") })
}

// only returns the reverts of the runs that the step names: since it was written down, the records
// of other runs may have come to look like parts of the same upgrade. Without any of them it returns
// all, which requireUpgrades refuses.
func (step ciStep) only(parts []*runs.Revert) []*runs.Revert {
	named := step.upgrade()
	kept := slices.DeleteFunc(slices.Clone(parts), func(back *runs.Revert) bool { return !slices.Contains(named, back.ID) })
	if len(kept) == 0 {
		return parts
	}
	return kept
}

// requireUpgrades returns an error when a rollback would revert other runs than upgrades, other
// upgrades than the step names, or upgrades whose records on hosts have another version or other
// variables than the upgrades of CI. review is the command with which a person sees what the records claim and confirms it.
func (step ciStep) requireUpgrades(parts []*runs.Revert, review string) error {
	if len(step) == 0 {
		return nil
	}
	known, err := upgradeVars()
	if err != nil {
		return err
	}
	for _, back := range parts {
		if step.verb() != change.VerbRollback || back.Invocation.Verb != journal.VerbUpgrade {
			return &exitError{exitRefused, fmt.Errorf("nothing was changed: run %s is deployer %s, and the step deployer %s reverts upgrades only", back.ID, back.Invocation.Verb, strings.Join(step, " "))}
		}
		if named := step.upgrade(); len(named) > 0 && !slices.Contains(named, back.ID) {
			return &exitError{exitRefused, fmt.Errorf("nothing was changed: the step deployer %s does not revert run %s; to review and confirm it, run: %s", strings.Join(step, " "), back.ID, review)}
		}
		for _, r := range back.Entries() {
			if claims := r.OriginalClaims(known); !r.Here && len(claims) > 0 {
				return &exitError{exitRefused, fmt.Errorf("nothing was changed: the record of upgrade %s on %s has what no upgrade of CI has: %s; to review and confirm it, run: %s",
					r.Header.Run, strings.Join(r.Places(), ", "), strings.Join(claims, "; "), review)}
			}
		}
	}
	return nil
}

// upgradeVars returns the variables of an upgrade that CI starts, which has no flags.
func upgradeVars() (map[string]any, error) {
	given, err := operations.DefaultUpgrade().RunOptions()
	return given.Extra, err
}

// rollbackVars returns the variables that the record of CI's rollback must have: those of the
// upgrade, whose drains a rollback may make unconditional. A log of this machine is trusted.
func rollbackVars(r *history.Entry) (map[string]any, error) {
	got := r.Header.Invocation.Extra
	if r.Here {
		return got, nil
	}
	want, err := upgradeVars()
	if got["upgrade_drain"] == upgrade.DrainAlways {
		want["upgrade_drain"] = upgrade.DrainAlways
	}
	return want, err
}
