package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/ci/repository"
)

func newCICommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "ci",
		GroupID: "runs",
		Short:   "Deploy what is pushed to a configuration repository",
		Long: `Ci determines the change of each cluster by a push to a repository with
inventories (none, configuration, new hosts, removed hosts, another version), refuses
the push when it breaks a gate, and otherwise deploys it: validate, plan, gate, then for
each environment deploy and verify. deployer.ci.yaml at the top of the repository
declares environments, gates and stages; without it, inventory.yaml is production.

It runs in any CI system and in the hooks of a bare repository. The program git must be
installed.`,
	}, newCIRun(e), newCIValidate(e), newCIPlan(e), newCIRollback(e), newCIDrift(e), newCIInit(e), newCIState(e))
}

// show writes the reports of a run and prints its summary.
func (o ciOptions) show(e env, p *pipeline.Pipeline, r *report.Run, write bool) error {
	service := detectCI(os.Getenv)
	summary := p.Mask(report.Markdown(r))
	if o.annotations == "github" || o.annotations == "" && service.Annotations {
		fmt.Fprint(e.stdout, o.commands.Allow(), p.Mask(report.GitHub(r)), o.commands.Stop())
	}
	if file := service.Summary; file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(summary)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			fmt.Fprintf(e.stderr, "deployer: writing the summary of the job: %v\n", err)
		}
	}
	printCIRun(e.stdout, p, r)
	if !write {
		return nil
	}
	if err := p.WriteReports(r, p.Reports()); err != nil {
		return fmt.Errorf("writing reports: %w", err)
	}
	fmt.Fprintf(e.stdout, "reports: %s\n", p.Reports())
	return nil
}

// ciExit returns the exit code of a run.
func ciExit(r *report.Run) error {
	switch r.Outcome {
	case report.Refused:
		return &exitError{exitRefused, errors.New("the push is refused")}
	case report.RolledBack:
		return &exitError{exitRestored, errors.New("the deploy failed, and the clusters have their verified revision again")}
	case report.Failed:
		return &exitError{exitFailed, errors.New("the run failed; see its stages")}
	case report.Interrupted:
		return &exitError{exitInterrupted, interruptedError(r)}
	}
	return nil
}

func newCIRun(e env) *cobra.Command {
	var o ciOptions
	var hook bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the stages for a revision: validate, plan, gate, deploy, verify",
		Long: `Run runs the stages of deployer.ci.yaml for one revision. It compares each
cluster with its last verified revision, so it also deploys the changes of earlier
pushes that failed.

One run at a time works on a repository. A run that waits ends when a newer push comes,
because that push deploys its changes too; rollbacks that wait run first. The next run
continues one that was killed. A cluster that does not pass verify gets its last
verified revision again. The gates of an environment are evaluated before each deploy of
it, with or without a stage gate.

An interrupt (Ctrl-C) ends the run after the steps in flight; a second one ends it at
once. The next run continues and completes the steps.

Exit codes: 0 deployed or nothing to do, 4 refused by a gate, 6 rolled back, 1 failed, 130
interrupted.`,
		Example: `  deployer ci run
  deployer ci run --repository /srv/git/clusters.git --new main
  deployer ci run --new $CI_COMMIT_SHA --approve sha256:5c1e...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.quoting(e, func(e env) error {
				return runInterruptible(cmd.Context(), e, func(ctx context.Context, stop <-chan struct{}) error {
					var pushed pushedRef
					if hook {
						var err error
						if pushed, err = readPushed(ctx, e, o.repository, o.branch); err != nil || pushed.new == "" {
							return err
						}
						o.new = pushed.new
					}
					p, err := o.open(ctx, pushed.old, e.stdout, stop)
					if err != nil {
						return err
					}
					defer p.Close(ctx)
					r, err := p.Run(ctx)
					var superseded *repository.SupersededError
					if errors.As(err, &superseded) {
						fmt.Fprintf(e.stdout, "superseded: the newer push %s deploys these changes too\n", superseded.By)
						return nil
					}
					if err != nil {
						return err
					}
					return firstError(o.show(e, p, r, true), ciExit(r))
				})
			})
		},
	}
	o.flags(cmd)
	o.revisionFlags(cmd)
	o.metricsFlag(cmd)
	hookFlag(cmd, &hook)
	cmd.Flags().BoolVar(&o.allowOlder, "allow-older", false, "deploy a revision that is older than that of a cluster, and revert the changes since")
	cmd.Flags().StringVar(&o.approve, "approve", "", "`digest` of the plan of the push that was reviewed, for the gate approved_plan (default: $DEPLOYER_CI_APPROVE)")
	return cmd
}

func newCIPlan(e env) *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what a push would do to each cluster, side by side",
		Long: `Plan compares the clusters of two revisions, applies the gates and prints one page in
Markdown, with all clusters side by side. It contacts no host. The reports have the same
page as HTML.`,
		Example: `  deployer ci plan --old main --new my-branch`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return quotingErrors(e, func() error {
				r, p, remove, err := o.assess(cmd.Context(), "")
				if err != nil {
					return err
				}
				defer remove()
				fmt.Fprint(e.stdout, p.Mask(report.Markdown(r)))
				if o.reports != "" {
					if err := p.WriteReports(r, o.reports); err != nil {
						return fmt.Errorf("writing reports: %w", err)
					}
				}
				return ciExit(r)
			})
		},
	}
	o.flags(cmd)
	o.revisionFlags(cmd)
	return cmd
}

func newCIRollback(e env) *cobra.Command {
	var o ciOptions
	var to string
	cmd := &cobra.Command{
		Use:   "rollback [INVENTORY]",
		Short: "Roll back to the last verified revision",
		Long: `Rollback returns clusters whose last deploy was not verified to their last
verified revision: hosts that have joined leave, hosts that have left join, an upgrade
is rolled back, and the other settings of that revision are applied. With an INVENTORY
whose deploy was verified, it returns to the verified revision before it.

A rollback waits for the end of a run that works on the repository, and runs before pushes
that wait. The branch keeps the newer revision: revert the commit, or the next push
deploys it again.`,
		Example: `  deployer ci rollback
  deployer ci rollback clusters/berlin/inventory.yaml --to 4be1f02`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.quoting(e, func(e env) error {
				return runInterruptible(cmd.Context(), e, func(ctx context.Context, stop <-chan struct{}) error {
					p, err := o.open(ctx, "", e.stdout, stop)
					if err != nil {
						return err
					}
					defer p.Close(ctx)
					inventory := ""
					if len(args) == 1 {
						inventory = filepath.ToSlash(filepath.Clean(args[0]))
					}
					r, err := p.Rollback(ctx, inventory, to)
					if err != nil {
						return err
					}
					if err := o.show(e, p, r, true); err != nil || r.Outcome == report.RolledBack {
						return err
					}
					return ciExit(r)
				})
			})
		},
	}
	o.flags(cmd)
	o.metricsFlag(cmd)
	cmd.Flags().StringVar(&to, "to", "", "verified `revision` to go to")
	return cmd
}

func newCIDrift(e env) *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Compare the clusters with their verified revisions, and change nothing",
		Long: `Drift checks all hosts of all clusters against the revision that was verified
last, and reports what deployer apply would change. Run it on a schedule.

Exit codes: 0 when no cluster differs, 2 when one does, 1 when one cannot be compared.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.quoting(e, func(e env) error {
				return runInterruptible(cmd.Context(), e, func(ctx context.Context, stop <-chan struct{}) error {
					p, err := o.open(ctx, "", e.stdout, stop)
					if err != nil {
						return applyOptions{detailedExitCode: true}.exitCode(false, err)
					}
					defer p.Close(ctx)
					r, differs, err := p.Drift(ctx)
					if err == nil {
						err = o.show(e, p, r, true)
					}
					switch {
					case err != nil:
						return applyOptions{detailedExitCode: true}.exitCode(false, err)
					case r.Outcome == report.Failed || r.Outcome == report.Interrupted:
						return ciExit(r)
					case differs:
						return exitSilently(exitDiffers)
					}
					return nil
				})
			})
		},
	}
	o.flags(cmd)
	o.revisionFlags(cmd)
	o.metricsFlag(cmd)
	return cmd
}
