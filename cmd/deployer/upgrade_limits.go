package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/limit"
	"deployer/project"
)

// upgradeLimits are the flags of upgrade that replace settings of cluster.rollout.
type upgradeLimits struct {
	maxUnavailable []string // LABEL=N or LABEL=N%
	spread         string
	critical       []string
}

func (l *upgradeLimits) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&l.maxUnavailable, "max-unavailable", nil, "maximum number or share of minions with the same value of a label that change at the same time, as `LABEL=N`, such as topology.kubernetes.io/zone=1; may be repeated (default: cluster.rollout.max_unavailable)")
	f.StringVar(&l.spread, "spread", "", "`label` over whose values minions take turns, such as topology.kubernetes.io/zone (default: cluster.rollout.spread)")
	f.StringArrayVar(&l.critical, "critical", nil, "`pattern` of hosts: when the change of such a minion fails, no further one begins, whatever --max-fail allows; may be repeated (default: cluster.rollout.critical)")
}

// limits returns the limits of --max-unavailable, in the order of the command line.
func (l upgradeLimits) limits() ([]cluster.LabelLimit, error) {
	var out []cluster.LabelLimit
	for _, text := range l.maxUnavailable {
		label, number, found := strings.Cut(text, "=")
		if label = strings.TrimSpace(label); !found || label == "" {
			return nil, usageError(fmt.Errorf("--max-unavailable: %q is not LABEL=N; write something like topology.kubernetes.io/zone=1", text))
		}
		if slices.ContainsFunc(out, func(o cluster.LabelLimit) bool { return o.Label == label }) {
			return nil, usageError(fmt.Errorf("--max-unavailable: the label %s has two limits; leave one out", label))
		}
		most, err := limit.Parse(number)
		if err != nil {
			return nil, usageError(fmt.Errorf("--max-unavailable %s: %w", label, err))
		}
		out = append(out, cluster.LabelLimit{Label: label, Limit: most})
	}
	return out, nil
}

// vars adds the variables of the flags that were given.
func (l upgradeLimits) vars(into map[string]any) error {
	limits, err := l.limits()
	if err != nil {
		return err
	}
	if len(limits) > 0 {
		list := make([]any, len(limits))
		for i, one := range limits {
			list[i] = map[string]any{"label": one.Label, "limit": one.Limit.String()}
		}
		into["upgrade_max_unavailable"] = list
	}
	if l.spread != "" {
		into["upgrade_spread"] = l.spread
	}
	if len(l.critical) > 0 {
		list := make([]any, len(l.critical))
		for i, pattern := range l.critical {
			list[i] = pattern
		}
		into["upgrade_critical"] = list
	}
	return nil
}

// rollout returns the limits of the upgrade of a project: the limits of its inventory, unless
// flags replace them. Labels that no node has and patterns without hosts are usage errors.
func (l upgradeLimits) rollout(p *project.Project) (cluster.Rollout, error) {
	out := p.Cluster.Rollout
	limits, err := l.limits()
	if err != nil {
		return out, err
	}
	var errs []error
	if len(limits) > 0 {
		out.MaxUnavailable = limits
	}
	for _, one := range limits {
		if err := p.Cluster.CheckLabel(one.Label); err != nil {
			errs = append(errs, fmt.Errorf("--max-unavailable: %w", err))
		}
	}
	if l.spread != "" {
		out.Spread = l.spread
		if err := p.Cluster.CheckLabel(l.spread); err != nil {
			errs = append(errs, fmt.Errorf("--spread: %w", err))
		}
	}
	if len(l.critical) > 0 {
		out.Critical = nil
	}
	for _, pattern := range l.critical {
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
		return out, usageError(err)
	}
	return out, nil
}
