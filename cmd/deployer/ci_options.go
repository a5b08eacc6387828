package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/project"
	"deployer/runs/telemetry"
)

// ciOptions are the flags of all verbs of ci.
type ciOptions struct {
	repository, state, reports string
	old, new, branch           string
	annotations                string
	approve                    string
	metrics                    string
	allowOlder                 bool
	commands                   *report.LogCommands // of the job's log; nil for none
	unmerged                   bool                // nobody has approved the revision, and nothing is executed
}

// flags adds the flags of all verbs.
func (o *ciOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.repository, "repository", ".", "`directory` of the git repository: a work tree, or a bare repository")
	f.StringVar(&o.state, "state", "", "`directory` of checkouts, plans, locks and reports (default: deployer-ci in the directory of the repository's objects)")
	f.StringVar(&o.reports, "reports", "", "`directory` of the reports, logs and artifacts of the run (default: reports/COMMIT in the directory of --state)")
	f.StringVar(&o.branch, "branch", "", "`branch` that is deployed: the state of runs names no revision outside of it (default: that of the CI system's environment, or that of HEAD)")
	f.StringVar(&o.annotations, "annotations", "", "print findings for the lines of a pull request: github or none (default: by the environment)")
}

// revisionFlags adds --old and --new.
func (o *ciOptions) revisionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.old, "old", "", "`revision` to compare with (default: the last verified revision of each cluster, or the one before the push)")
	f.StringVar(&o.new, "new", "", "`revision` to deploy (default: that of the CI system's environment, or HEAD)")
}

// metricsFlag adds --metrics.
func (o *ciOptions) metricsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.metrics, "metrics", "", "`file` that gets the metrics of the run, for the textfile collector of Prometheus' node exporter (default: $DEPLOYER_CI_METRICS_FILE)")
}

// metricsFile returns the file of the metrics. A verb that only shows what a run would do has none.
func (o ciOptions) metricsFile() string {
	if o.unmerged {
		return ""
	}
	return cmp.Or(o.metrics, os.Getenv("DEPLOYER_CI_METRICS_FILE"))
}

// states opens the states of the clusters with the keys of this machine. dir is the state
// directory.
func (o ciOptions) states(ctx context.Context, repo *repository.Repository, dir string) (*repository.States, *repository.Keys, error) {
	if o.unmerged {
		name, err := repo.ConfiguredName(ctx)
		if err != nil {
			return nil, nil, project.AsUserError(err)
		}
		return repo.ReadStates(repo.PublicKeys(ctx), name), nil, nil
	}
	keys, err := repository.OpenKeys(os.Getenv)
	if err != nil {
		return nil, nil, project.AsUserError(err)
	}
	name, err := repo.StateName(ctx, os.Getenv)
	if err != nil {
		return nil, nil, project.AsUserError(err)
	}
	return repo.OpenStates(keys, name, filepath.Join(dir, "known", repo.Identity(ctx))), keys, nil
}

// open opens the pipeline at the revision of the flags.
//
// before is the revision before a push; empty for that of the CI system. stop is closed when
// commands in flight have to end at once; nil for never.
func (o ciOptions) open(ctx context.Context, before string, out io.Writer, stop <-chan struct{}) (*pipeline.Pipeline, error) {
	repo, err := repository.Open(ctx, o.repository)
	if err != nil {
		return nil, project.AsUserError(err)
	}
	repo.Unmerged = o.unmerged
	service, revision := detectCI(os.Getenv), o.new
	if revision == "" {
		revision = cmp.Or(service.New, "HEAD")
		before = cmp.Or(before, service.Old)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	state := o.state
	if state == "" {
		state = filepath.Join(repo.Dir, "deployer-ci")
	}
	if state, err = filepath.Abs(state); err != nil {
		return nil, err
	}
	reports := o.reports
	if reports != "" {
		if reports, err = filepath.Abs(reports); err != nil {
			return nil, err
		}
	}
	states, keys, err := o.states(ctx, repo, state)
	if err != nil {
		return nil, err
	}
	spans, err := telemetry.SpansFromEnvironment(ctx, os.Getenv, version)
	if err != nil {
		return nil, err
	}
	return pipeline.Open(ctx, pipeline.Options{
		Spans:      spans,
		Repository: repo, States: states, Keys: keys, State: state, Branch: cmp.Or(o.branch, service.Branch), New: revision, Old: o.old, Before: before, Approved: cmp.Or(o.approve, os.Getenv("DEPLOYER_CI_APPROVE")), Out: out, Now: time.Now,
		LogCommands: o.commands, AllowOlder: o.allowOlder, Stop: stop,
		Deployer:   pipeline.Program{Path: program, Name: "deployer"},
		ReportsDir: reports, Metrics: o.metricsFile(),
		Unmerged: o.unmerged,
		Load: func(inventory string, r pipeline.Reading) (*project.Project, error) {
			return project.LoadCluster(inventory, ciOptionsOf(r))
		},
		Inputs: func(inventory, playbook string, r pipeline.Reading) (*project.PlaybookInputs, error) {
			return project.ReadPlaybookInputs(inventory, playbook, ciOptionsOf(r))
		},
	})
}

// ciOptionsOf returns the options with which CI reads a checkout.
func ciOptionsOf(r pipeline.Reading) project.Options {
	options := projectOptions()
	options.LookupEnv, options.IsPlaceholder, options.Confined = r.LookupEnv, r.IsPlaceholder, r.Confined
	return options
}
