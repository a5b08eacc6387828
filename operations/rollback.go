package operations

import (
	"context"
	"errors"
	"fmt"

	"deployer/engine"
	"deployer/runs"
)

// Rollback reverts the runs of an upgrade, newest first, which runs.Runner.Rollback returns. When
// one of them is Partial, because something could not be restored, the others are reverted all the
// same. Rollback reports whether there was something to restore.
func (o Operator) Rollback(ctx context.Context, parts []*runs.Revert, inventory string, with RevertOptions) (worked bool, err error) {
	if len(parts) > 1 {
		ids := make(RollbackOf, len(parts))
		for i, back := range parts {
			ids[i] = back.ID
		}
		if err := o.Caller.Show(ids); err != nil {
			return false, err
		}
	}
	partial := false
	for _, back := range parts {
		for _, r := range back.Entries() {
			if err := o.Caller.Show(RevertedRecord{r, r.Claims(nil)}); err != nil {
				return worked, err
			}
		}
		did, err := o.revert(ctx, back, with)
		if err != nil && !EndedAs(err, Partial) {
			return true, err
		}
		worked, partial = worked || did, partial || err != nil
	}
	if !with.Check {
		if err := o.Caller.Show(RolledBack{inventory, parts[0].Invocation.Kubernetes}); err != nil {
			return worked, err
		}
	}
	if partial {
		return worked, ended(Partial)
	}
	return worked, nil
}

// ShowLowered shows the minor versions that a rollback lowers.
func (o Operator) ShowLowered(parts []*runs.Revert) error {
	var texts LoweredVersions
	for _, back := range parts {
		texts = append(texts, back.Lowered()...)
	}
	if len(texts) == 0 {
		return nil
	}
	return o.Caller.Show(texts)
}

// rollsBack reports whether an upgrade with this report is rolled back: failed hosts have ended
// it after a change. An interrupt and a pause are continued by resume.
func (o UpgradeOptions) rollsBack(report *engine.Report) bool {
	outcome := report.Outcome()
	ended := outcome == engine.OutcomeAborted || outcome == engine.OutcomeRestored
	return o.AutoRollback && ended && !report.Check && report.Changed() > 0
}

// RollBackFailed reverts an upgrade that has failed, without a question. The error is Restored
// when the hosts are as before; otherwise it is that of a rollback that left something, or the
// reason why there was none.
func (o Operator) RollBackFailed(ctx context.Context, id string, with UpgradeOptions) error {
	if err := o.Caller.Show(RollingBack{id}); err != nil {
		return err
	}
	parts, err := o.Runner.Rollback(id, runs.RevertOptions{Options: with.Options, LowerMinor: with.LowerMinor})
	if shown := o.ShowLowered(parts); err == nil {
		err = shown
	}
	if err == nil {
		confirmed := o
		confirmed.Caller = agreed{o.Caller}
		_, err = confirmed.Rollback(ctx, parts, with.Inventory, RevertOptions{})
	}
	var end *Ended
	switch {
	case err == nil:
		return ended(Restored)
	case errors.As(err, &end) && end.Err == nil:
		return err // the summary of the rollback names the rest
	}
	return &Ended{Failed, fmt.Errorf("the upgrade is not rolled back: %w", err)}
}

// agreed is a caller that has agreed to what an operation asks.
type agreed struct{ Caller }

// Confirm implements Caller.
func (agreed) Confirm(string) error { return nil }
