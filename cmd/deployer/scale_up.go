package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"deployer/cluster/compare"
	"deployer/inventory"
	"deployer/runs"
)

func newScaleUpCommand(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "scale-up [HOST...]",
		GroupID: "cluster",
		Short:   "Add hosts of the inventory to the cluster",
		Long: `Scale-up installs hosts that the inventory names and the cluster does not have yet:
masters, minions, etcd members, proxies. HOST is a pattern: names, ranges n[1:3],
globs, groups. Without HOST it asks the cluster which nodes and etcd members it has, and
adds all hosts that are missing.

Other hosts are touched only where they depend on the new ones: BGP sessions, backends
of API proxies, the etcd members that API servers use. An etcd member joins as a
learner and votes when it has caught up, one member at a time. A node is cordoned
before its kubelet registers, and takes pods when the tests of its functions have
passed. Certificate authorities are never created.

Run the same command again after an interrupt or a kill: it continues.`,
		Example: `  deployer scale-up
  deployer scale-up n41
  deployer scale-up 'm[2:3]'`,
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			var survey *runs.Run
			if len(args) == 0 {
				if args, survey, err = joiningHosts(cmd.Context(), e, o, given); err != nil || len(args) == 0 {
					return err
				}
			}
			r, err := newRunner(e).ScaleUp(given, args)
			if err != nil {
				return err
			}
			if survey != nil {
				r.ShareCredentials(survey)
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}

// joiningHosts returns the hosts of the inventory that the running cluster does not have,
// and the survey that found them.
func joiningHosts(ctx context.Context, e env, o runOptions, given runs.Options) ([]string, *runs.Run, error) {
	survey, err := newRunner(e).SurveyMembers(given)
	if err != nil {
		return nil, nil, err
	}
	found, err := runWithDisplay(ctx, survey, o.progressDisplay(e.stderr, survey.Hosts), survey.Survey)
	switch {
	case err != nil:
		return nil, nil, err
	case found.Report.Interrupted:
		return nil, nil, exitSilently(exitInterrupted)
	case found.State == compare.QuorumLost:
		return nil, nil, &exitError{exitQuorumLost, fmt.Errorf("nothing was changed: %s", found.Reason)}
	case found.State == compare.Restoring:
		return nil, nil, &exitError{exitRefused, fmt.Errorf("nothing was changed: %s", found.Reason)}
	case found.State != compare.Running:
		return nil, nil, &exitError{exitRefused, fmt.Errorf("no host can join: %s; deployer apply installs, starts or repairs a cluster", found.Reason)}
	case len(found.Joining) == 0:
		fmt.Fprintln(e.stderr, "nothing to do: the cluster has all hosts of the inventory")
	default:
		fmt.Fprintf(e.stderr, "not in the cluster yet: %s\n", inventory.CompressText(found.Joining))
	}
	return found.Joining, survey, nil
}
