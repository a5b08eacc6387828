package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/runs"
)

// autoRollback are the flags of upgrade that roll a failed upgrade back.
type autoRollback struct{ enabled, lowerMinor bool }

func (a *autoRollback) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&a.enabled, "auto-rollback", false, "roll the upgrade back, as deployer rollback does, when failed hosts end it: a canary, a critical host, or more than --max-fail")
	f.BoolVar(&a.lowerMinor, "lower-minor", false, "with --auto-rollback: lower the minor version of API servers, although they may not read what the newer ones have stored")
}

func (a autoRollback) check() error {
	if a.lowerMinor && !a.enabled {
		return usageError(errors.New("--lower-minor is for --auto-rollback; leave it out, or add --auto-rollback"))
	}
	return nil
}

// after reports whether an upgrade with this report is rolled back: failed hosts have ended
// it after a change. An interrupt and a pause are continued by deployer resume.
func (a autoRollback) after(report *engine.Report) bool {
	outcome := report.Outcome()
	ended := outcome == engine.OutcomeAborted || outcome == engine.OutcomeRestored
	return a.enabled && ended && !report.Check && report.Changed() > 0
}

// rollBackUpgrade reverts an upgrade that has failed. The error has exit code 6 when the
// hosts are as before; otherwise it is the error of a rollback that left something, or
// the reason why there was none.
func rollBackUpgrade(ctx context.Context, e env, runner runs.Runner, id string, o upgradeOptions) error {
	fmt.Fprintf(e.stderr, "the upgrade has failed; rolling run %s back\n", id)
	given, err := o.runOptions.resolve()
	if err != nil {
		return err
	}
	parts, err := runner.Rollback(id, runs.RevertOptions{Options: given, LowerMinor: o.autoRollback.lowerMinor})
	if o.output == "text" {
		printLowered(e.stdout, parts)
	}
	if err == nil {
		err = rollback(ctx, e, parts, revertOptions{runOptions: o.runOptions, yes: true})
	}
	var exit *exitError
	switch {
	case err == nil:
		return exitSilently(exitRestored)
	case errors.As(err, &exit) && exit.err == nil:
		return err // the summary of the rollback names the rest
	}
	return &exitError{exitFailed, fmt.Errorf("the upgrade is not rolled back: %w", err)}
}
