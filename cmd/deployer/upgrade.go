package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deployer/cluster"
	"deployer/limit"
	"deployer/operations"
	"deployer/tasks/control/upgrade"
)

// upgradeFlagValues are the flags of upgrade and of upgrade plan.
type upgradeFlagValues struct {
	runOptions
	with           operations.UpgradeOptions // of the flags without a text of their own
	batch, maxFail string
	maxUnavailable []string // LABEL=N or LABEL=N%
	rolloutFile    string
}

func newUpgradeCommand(e env) *cobra.Command {
	var o upgradeFlagValues
	cmd := &cobra.Command{
		Use:     "upgrade",
		GroupID: "cluster",
		Short:   "Move the cluster to the versions of the inventory, host by host",
		Long: `Upgrade moves a cluster in use to the versions of the inventory, or of --to. It
checks all hosts and refuses steps that the components do not support, saves a verified
snapshot of etcd, and then changes etcd member by member, masters one by one, and
minions in batches: first one, then at most --batch-size at a time; the next minion
begins as soon as one is done. Every host passes the gates of install. A host on which a
change fails gets its previous versions back.

Pods leave a node when the change requires it: for a kubelet or container runtime of
another minor version, for a runtime that restarts under pods with host ports, and for
another policy of the CPU or memory manager. Otherwise they stay.

An interrupt ends the upgrade between hosts; deployer resume continues it, and deployer
rollback reverts it. With --auto-rollback, an upgrade that failed hosts have ended is
rolled back at once.`,
		Example: `  deployer upgrade plan --to v1.36.3
  deployer upgrade --to v1.36.3 --batch-size 5%
  deployer upgrade --only kube-apiserver`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			with, err := o.operation(cmd.Flags())
			if err != nil {
				return err
			}
			runner := newRunner(e)
			runner.PromptSecret = rememberPasswords(runner.PromptSecret)
			operator := newConsole(e, o.runOptions, false).operator(runner)
			r, err := operator.PrepareUpgrade(with)
			switch {
			case err != nil:
				return err
			case e.started != nil:
				e.started(r)
				return nil
			}
			return operator.RunUpgrade(cmd.Context(), r, with)
		},
	}
	upgradeFlags(cmd, &o)
	f := cmd.Flags()
	f.BoolVar(&o.with.AutoRollback, "auto-rollback", false, "roll the upgrade back, as deployer rollback does, when failed hosts end it: a canary, a critical host, or more than --max-fail")
	f.BoolVar(&o.with.LowerMinor, "lower-minor", false, "with --auto-rollback: lower the minor version of API servers, although they may not read what the newer ones have stored")
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	cmd.AddCommand(newUpgradePlan(e))
	return cmd
}

// upgradeFlags adds the flags that describe an upgrade.
func upgradeFlags(cmd *cobra.Command, o *upgradeFlagValues) {
	o.with = operations.DefaultUpgrade()
	f := cmd.Flags()
	f.StringVar(&o.with.To, "to", "", "Kubernetes `version` instead of the inventory's, such as v1.36.3; set it in the inventory afterwards")
	f.StringVar(&o.batch, "batch-size", o.with.BatchSize.String(), "maximum number of minions that change at the same time, or a share of them")
	f.StringVar(&o.maxFail, "max-fail", o.with.MaxFail.String(), "number or share of minions that may fail; after more failures no further one begins")
	f.IntVar(&o.with.Canary, "canary", o.with.Canary, "number of minions that are changed before the others begin, one at a time")
	f.DurationVar(&o.with.Soak, "soak", 0, "time to observe the first master and the first minions before others begin, such as 2m")
	f.BoolVar(&o.with.Pause, "pause", false, "end after the first minions; deployer resume continues with the others")
	f.StringArrayVar(&o.maxUnavailable, "max-unavailable", nil, "maximum number or share of minions with the same value of a label that change at the same time, as `LABEL=N`, such as topology.kubernetes.io/zone=1; may be repeated (default: cluster.rollout.max_unavailable)")
	f.StringVar(&o.with.Spread, "spread", "", "`label` over whose values minions take turns, such as topology.kubernetes.io/zone (default: cluster.rollout.spread)")
	f.StringArrayVar(&o.with.Critical, "critical", nil, "`pattern` of hosts: when the change of such a minion fails, no further one begins, whatever --max-fail allows; may be repeated (default: cluster.rollout.critical)")
	f.StringVar(&o.rolloutFile, "rollout", "", "`file` with the order of minions and the limits of the upgrade, in steps; see the guide on upgrades. Flags replace its keys")
	f.StringSliceVar(&o.with.Only, "only", nil, "change only the versions of these components: "+strings.Join(operations.UpgradeComponents, ", "))
	f.Var(&enumFlag{&o.with.Drain, []string{upgrade.DrainAuto, upgrade.DrainAlways, upgrade.DrainNever}}, "drain",
		"move pods to other nodes first: auto where the change requires it, always, or never")
	f.DurationVar(&o.with.DrainTimeout, "drain-timeout", o.with.DrainTimeout, "maximum duration of the drain of a node; after it the node takes pods again and counts as failed")
}

// operation returns the options of the flags and of the file of --rollout.
func (o upgradeFlagValues) operation(flags *pflag.FlagSet) (out operations.UpgradeOptions, err error) {
	out = o.with
	if out.Options, err = o.resolve(); err != nil {
		return out, err
	}
	if out.LowerMinor && !out.AutoRollback {
		return out, usageError(errors.New("--lower-minor is for --auto-rollback; leave it out, or add --auto-rollback"))
	}
	for _, l := range []struct {
		flag, value string
		into        *limit.Limit
	}{{"--batch-size", o.batch, &out.BatchSize}, {"--max-fail", o.maxFail, &out.MaxFail}} {
		if *l.into, err = limit.Parse(l.value); err != nil {
			return out, usageError(fmt.Errorf("%s: %w", l.flag, err))
		}
	}
	if out.MaxUnavailable, err = labelLimits(o.maxUnavailable); err != nil {
		return out, usageError(fmt.Errorf("--max-unavailable%w", err))
	}
	if o.rolloutFile != "" {
		file, err := operations.ReadRolloutPlan(o.rolloutFile)
		if err != nil {
			return out, usageError(err)
		}
		file.Replace(&out, flags.Changed)
	}
	return out, nil
}

// labelLimits returns the limits of texts like zone=1. Errors begin with what follows the name of
// the flag.
func labelLimits(texts []string) ([]cluster.LabelLimit, error) {
	var out []cluster.LabelLimit
	for _, text := range texts {
		label, number, found := strings.Cut(text, "=")
		if label = strings.TrimSpace(label); !found || label == "" {
			return nil, fmt.Errorf(": %q is not LABEL=N; write something like topology.kubernetes.io/zone=1", text)
		}
		if slices.ContainsFunc(out, func(o cluster.LabelLimit) bool { return o.Label == label }) {
			return nil, fmt.Errorf(": the label %s has two limits; leave one out", label)
		}
		most, err := limit.Parse(number)
		if err != nil {
			return nil, fmt.Errorf(" %s: %w", label, err)
		}
		out = append(out, cluster.LabelLimit{Label: label, Limit: most})
	}
	return out, nil
}
