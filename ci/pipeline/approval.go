package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// digestPush gives all clusters the digest of the plan of the push, which a reviewer
// approves: that of the only plan, or one digest of the plans of all clusters.
func (r *run) digestPush() {
	var plans []string
	for _, t := range r.targets {
		if t.Plan != "" {
			plans = append(plans, t.Plan)
		}
	}
	switch slices.Sort(plans); len(plans) {
	case 0:
		return
	case 1:
		r.record.Plan = plans[0]
	default:
		sum := sha256.Sum256([]byte(strings.Join(plans, "\n")))
		r.record.Plan = "sha256:" + hex.EncodeToString(sum[:])
	}
	for _, t := range r.targets {
		if t.Plan != "" {
			t.pushPlan = r.record.Plan
		}
	}
}

// approvedBefore reports whether an earlier run has got the approval for the plan of the
// cluster, or for the deploy that this run continues: its plan has fewer changes, because
// a part is done.
func (t *target) approvedBefore() bool {
	approved := t.state.Approved
	return approved != "" && (approved == t.Plan || t.continues() && t.state.Deploying.Begun > 0)
}

// keepApproval records that the plan of the push is approved, for clusters whose deploy a
// later run begins or continues: its push has another digest, because a part is done.
func (r *run) keepApproval(ctx context.Context, targets []*target) error {
	for _, t := range targets {
		if t.pushPlan == "" || t.pushPlan != r.Approved || t.approvedBefore() {
			continue
		}
		t.state.Approved = t.Plan
		if err := r.setState(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
