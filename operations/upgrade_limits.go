package operations

import (
	"errors"
	"fmt"

	"deployer/cluster"
	"deployer/project"
)

// UpgradeLimits replace settings of cluster.rollout of the inventory.
type UpgradeLimits struct {
	// MaxUnavailable limits the minions with the same value of a label that change at the same
	// time.
	MaxUnavailable []cluster.LabelLimit
	// Spread is the label over whose values minions take turns.
	Spread string
	// Critical are patterns of hosts: a failure there ends the upgrade.
	Critical []string
}

// vars adds the variables of the limits that are set.
func (l UpgradeLimits) vars(into map[string]any) {
	if len(l.MaxUnavailable) > 0 {
		list := make([]any, len(l.MaxUnavailable))
		for i, one := range l.MaxUnavailable {
			list[i] = map[string]any{"label": one.Label, "limit": one.Limit.String()}
		}
		into["upgrade_max_unavailable"] = list
	}
	if l.Spread != "" {
		into["upgrade_spread"] = l.Spread
	}
	if len(l.Critical) > 0 {
		list := make([]any, len(l.Critical))
		for i, pattern := range l.Critical {
			list[i] = pattern
		}
		into["upgrade_critical"] = list
	}
}

// Limits returns the limits of the upgrade of a project: those of its inventory, unless they are
// replaced. Labels that no node has and patterns without hosts are a *project.UserError.
func (l UpgradeLimits) Limits(p *project.Project) (cluster.Rollout, error) {
	out := p.Cluster.Rollout
	var errs []error
	if len(l.MaxUnavailable) > 0 {
		out.MaxUnavailable = l.MaxUnavailable
	}
	for _, one := range l.MaxUnavailable {
		if err := p.Cluster.CheckLabel(one.Label); err != nil {
			errs = append(errs, fmt.Errorf("--max-unavailable: %w", err))
		}
	}
	if l.Spread != "" {
		out.Spread = l.Spread
		if err := p.Cluster.CheckLabel(l.Spread); err != nil {
			errs = append(errs, fmt.Errorf("--spread: %w", err))
		}
	}
	if len(l.Critical) > 0 {
		out.Critical = nil
	}
	for _, pattern := range l.Critical {
		hosts, err := p.Match(pattern)
		if err == nil && len(hosts) == 0 {
			err = fmt.Errorf("pattern %q matches no host", pattern)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--critical: %w", err))
		}
		out.Critical = append(out.Critical, hosts...)
	}
	if err := errors.Join(errs...); err != nil {
		return out, project.AsUserError(err)
	}
	return out, nil
}
