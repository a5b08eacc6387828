package operations

import (
	"context"

	"deployer/runs"
)

// RevertOptions are the options of Revert and Rollback.
type RevertOptions struct {
	// Check changes nothing, and shows what would be restored.
	Check bool
}

// Revert queries the hosts, shows what the revert of a run will restore, asks, and executes it.
// The error is Partial when something could not be restored.
func (o Operator) Revert(ctx context.Context, back *runs.Revert, with RevertOptions) error {
	_, err := o.revert(ctx, back, with)
	return err
}

// revert is Revert, and also reports whether there was something to restore.
func (o Operator) revert(ctx context.Context, back *runs.Revert, with RevertOptions) (worked bool, err error) {
	preview, err := watch(ctx, o, back, Watched{Previewing, back.Hosts()}, back.Preview)
	if err != nil {
		return false, err
	}
	if preview.Report.Interrupted {
		return false, ended(Interrupted)
	}
	worked = preview.HasWork() || preview.Incomplete()
	if err := first(o.Caller.Show(RevertPreview{back, preview}), preview.Refuse()); err != nil || with.Check {
		return worked, err
	}
	switch {
	case !preview.HasWork() && preview.Incomplete():
		return worked, ended(Partial)
	case !preview.HasWork():
		return worked, nil
	}
	if err := o.Caller.Confirm("Restore this?"); err != nil {
		return worked, err
	}
	r, err := back.Run(preview)
	if err != nil {
		return worked, err
	}
	unrestored := &runs.Unrestored{}
	report, err := watch(ctx, o, r, Watched{Changing, r.Hosts}, r.Do, unrestored)
	if report == nil {
		return worked, err
	}
	left := unrestored.ForReport(report)
	shown := first(
		o.Caller.Show(Unrestored{back.Invocation, left, report}),
		o.Caller.Show(RunEnded{Run: r, Report: report}),
	)
	if err := first(err, shown, Outcome(report)); err != nil {
		return worked, err
	}
	if len(left) > 0 || preview.Incomplete() {
		return worked, ended(Partial)
	}
	return worked, nil
}
