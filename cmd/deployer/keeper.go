package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/runs"
)

func newKeeperCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "keeper",
		GroupID: "cluster",
		Short:   "Show and pause the keeper, which repairs the cluster between runs",
	}, newKeeperStatus(e), newKeeperPause(e), newKeeperResume(e))
}

func newKeeperPause(e env) *cobra.Command {
	var o runOptions
	var k runs.KeeperPauseOptions
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Make the keepers stop acting",
		Long: `Pause makes the keepers of all masters stop acting, for work that they would disturb.
They go on to serve metrics. One that acts at the moment ends its action first. With --for
they act again by themselves after that time, otherwise after deployer keeper resume.`,
		Example: `  deployer keeper pause --for 2h --reason "storage migration"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.For < 0 {
				return usageError(fmt.Errorf("--for is %s: want a time such as 2h", k.For))
			}
			return executeKeeper(cmd, e, o, func(given runs.Options) (*runs.Run, error) { return newRunner(e).KeeperPause(given, k) })
		},
	}
	runFlags(cmd, &o)
	cmd.Flags().DurationVar(&k.For, "for", 0, "time after which the keepers act again by themselves")
	cmd.Flags().StringVar(&k.Reason, "reason", "", "reason, for those who find the keepers paused")
	return cmd
}

func newKeeperResume(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let the keepers act again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return executeKeeper(cmd, e, o, func(given runs.Options) (*runs.Run, error) {
				return newRunner(e).KeeperPause(given, runs.KeeperPauseOptions{Resume: true})
			})
		},
	}
	runFlags(cmd, &o)
	return cmd
}

// executeKeeper executes a run that is about the keepers, which the cluster must have.
func executeKeeper(cmd *cobra.Command, e env, o runOptions, make func(runs.Options) (*runs.Run, error)) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	r, err := make(given)
	if err != nil {
		return err
	}
	if err := needsKeeper(r); err != nil {
		return err
	}
	return execute(cmd.Context(), e, r, o)
}

// needsKeeper refuses a cluster without keepers.
func needsKeeper(r *runs.Run) error {
	if r.Project.Cluster.Keeper.Enabled {
		return nil
	}
	return &project.UserError{Err: errors.New("this cluster has no keeper: set cluster.keeper.enabled: true in the inventory, and run deployer apply")}
}

// ago formats the time since a moment, to the second.
func ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%s ago", time.Since(t).Round(time.Second))
}
