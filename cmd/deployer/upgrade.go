package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deployer/limit"
	"deployer/project"
	"deployer/runs"
	"deployer/tasks/control/upgrade"
)

// upgradeOptions are the flags of upgrade and of upgrade plan.
type upgradeOptions struct {
	runOptions
	upgradeLimits
	autoRollback   autoRollback
	soak           time.Duration
	pause          bool
	to             string
	batch, maxFail string
	canary         int
	only           []string
	drain          string
	drainTimeout   time.Duration
	rolloutFile    string
	plan           rolloutPlan // of rolloutFile
}

// upgradeComponents are the values of --only, in the order of an upgrade.
var upgradeComponents = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "containerd", "kubelet", "kube-proxy",
}

func newUpgradeCommand(e env) *cobra.Command {
	var o upgradeOptions
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
			if err := o.readRollout(cmd.Flags()); err != nil {
				return err
			}
			given, err := o.resolve()
			if err != nil {
				return err
			}
			runner := newRunner(e)
			runner.PromptSecret = rememberPasswords(runner.PromptSecret)
			r, err := runner.Upgrade(given)
			if err != nil {
				return err
			}
			if _, err := o.rollout(r.Project); err != nil {
				return err
			}
			if _, err := o.plan.resolve(r.Project); err != nil {
				return err
			}
			return runUpgrade(cmd.Context(), e, runner, r, o)
		},
	}
	upgradeFlags(cmd, &o)
	o.autoRollback.flags(cmd)
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	cmd.AddCommand(newUpgradePlan(e))
	return cmd
}

// upgradeFlags adds the flags that describe an upgrade.
func upgradeFlags(cmd *cobra.Command, o *upgradeOptions) {
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "Kubernetes `version` instead of the inventory's, such as v1.36.3; set it in the inventory afterwards")
	f.StringVar(&o.batch, "batch-size", "10%", "maximum number of minions that change at the same time, or a share of them")
	f.StringVar(&o.maxFail, "max-fail", "0", "number or share of minions that may fail; after more failures no further one begins")
	f.IntVar(&o.canary, "canary", 1, "number of minions that are changed before the others begin, one at a time")
	f.DurationVar(&o.soak, "soak", 0, "time to observe the first master and the first minions before others begin, such as 2m")
	f.BoolVar(&o.pause, "pause", false, "end after the first minions; deployer resume continues with the others")
	o.flags(cmd)
	f.StringVar(&o.rolloutFile, "rollout", "", "`file` with the order of minions and the limits of the upgrade, in steps; see the guide on upgrades. Flags replace its keys")
	f.StringSliceVar(&o.only, "only", nil, "change only the versions of these components: "+strings.Join(upgradeComponents, ", "))
	o.drain = upgrade.DrainAuto
	f.Var(&enumFlag{&o.drain, []string{upgrade.DrainAuto, upgrade.DrainAlways, upgrade.DrainNever}}, "drain",
		"move pods to other nodes first: auto where the change requires it, always, or never")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 15*time.Minute, "maximum duration of the drain of a node; after it the node takes pods again and counts as failed")
}

// defaultUpgrade returns the options of an upgrade without flags.
func defaultUpgrade(run runOptions) upgradeOptions {
	var o upgradeOptions
	upgradeFlags(&cobra.Command{}, &o) // sets the defaults
	o.runOptions = run
	return o
}

// readRollout reads the file of --rollout, if there is one.
func (o *upgradeOptions) readRollout(flags *pflag.FlagSet) (err error) {
	if o.rolloutFile == "" {
		return nil
	}
	if o.plan, err = readRolloutPlan(o.rolloutFile); err != nil {
		return usageError(err)
	}
	o.plan.apply(o, flags)
	return nil
}

// resolve returns the options of the run: flags become variables of the playbook.
func (o upgradeOptions) resolve() (runs.Options, error) {
	out, err := o.runOptions.resolve()
	if err != nil {
		return out, err
	}
	for _, l := range []struct{ flag, value string }{{"--batch-size", o.batch}, {"--max-fail", o.maxFail}} {
		if _, err := limit.Parse(l.value); err != nil {
			return out, usageError(fmt.Errorf("%s: %w", l.flag, err))
		}
	}
	if err := o.autoRollback.check(); err != nil {
		return out, err
	}
	for _, name := range o.only {
		if !slices.Contains(upgradeComponents, name) {
			return out, usageError(fmt.Errorf("--only: there is no component %q: use %s", name, strings.Join(upgradeComponents, ", ")))
		}
	}
	only := make([]any, len(o.only))
	for i, name := range o.only {
		only[i] = name
	}
	out.Kubernetes, out.Tags = o.to, o.only
	out.Extra = map[string]any{
		"upgrade_batch": o.batch, "upgrade_max_fail": o.maxFail, "upgrade_canary": o.canary, "upgrade_soak": o.soak.String(), "upgrade_pause": o.pause,
		"upgrade_only": only, "upgrade_drain": o.drain, "upgrade_drain_timeout": o.drainTimeout.String(),
	}
	if steps := o.plan.vars(); len(steps) > 0 {
		out.Extra["upgrade_steps"] = steps
	}
	return out, o.vars(out.Extra)
}

// runUpgrade executes an upgrade and prints the place of its snapshot and the line
// that the inventory must have afterwards.
func runUpgrade(ctx context.Context, e env, runner runs.Runner, r *runs.Run, o upgradeOptions) error {
	if e.started != nil {
		e.started(r)
		return nil
	}
	results := &upgradeResults{}
	report, err := runWithDisplay(ctx, r, o.display(e.stdout, r.TargetHosts()).with(results), r.Do)
	if report == nil {
		return err
	}
	back, hint := err == nil && o.autoRollback.after(report), o.rerunHint(r)
	if back {
		hint = "" // the run ends here
	}
	outcome := firstError(err, finishRunWithHint(e, r, report, o.runOptions, hint))
	if o.output == "text" {
		results.print(e.stdout)
	}
	if back {
		return rollBackUpgrade(ctx, e, runner, r.ID(), o)
	}
	if o.output == "text" {
		printInventoryLine(e.stdout, r)
	}
	return outcome
}

// printInventoryLine says which line of the inventory the version of --to belongs to. As
// long as the inventory has the older version, install refuses the downgrade.
func printInventoryLine(w interface{ Write([]byte) (int, error) }, r *runs.Run) {
	spec, err := project.KubernetesLine(r.Project.Inventory)
	if r.Kubernetes == "" || err != nil || spec.Version == r.Kubernetes {
		return
	}
	fmt.Fprintf(w, "%s: set kubernetes: %s there; until then deployer install refuses the older version\n", spec.Place, r.Kubernetes)
}
