package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"deployer/project"
	"deployer/runs"
	"deployer/tasks/control/conformance"
	"deployer/tasks/control/report"
)

// conformanceFlags are the flags of deployer verify --conformance.
type conformanceFlags struct {
	enabled        bool
	focus, skip    string
	parallel       int
	timeout        time.Duration
	results, junit string
	yes            bool
}

// conformanceNames are the flags that need --conformance.
var conformanceNames = []string{"focus", "skip", "parallel", "timeout", "results", "junit", "yes"}

func (c *conformanceFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&c.enabled, "conformance", false, "run the conformance tests of Kubernetes instead")
	f.StringVar(&c.focus, "focus", "", "run only the tests whose names match this regular `expression` (default \""+conformance.DefaultFocus+"\")")
	f.StringVar(&c.skip, "skip", "", "do not run the tests whose names match this regular `expression`")
	f.IntVar(&c.parallel, "parallel", 1, "number of tests that run at the same time; tests that are [Serial] run alone")
	f.DurationVar(&c.timeout, "timeout", 24*time.Hour, "maximum time of all tests together")
	f.StringVar(&c.results, "results", "", "`directory` for junit_01.xml and e2e.log (default conformance-CLUSTER-TIME)")
	f.StringVar(&c.junit, "junit", "", "write a JUnit report with the tests that ran into this `file`")
	f.BoolVarP(&c.yes, "yes", "y", false, "do not prompt for confirmation")
}

// check returns the error of values that cannot be right, before any host is contacted.
func (c *conformanceFlags) check(cmd *cobra.Command) error {
	if !c.enabled {
		for _, name := range conformanceNames {
			if cmd.Flags().Changed(name) {
				return usageError(fmt.Errorf("--%s needs --conformance", name))
			}
		}
		return nil
	}
	for name, expression := range map[string]string{"focus": c.focus, "skip": c.skip} {
		if _, err := regexp.Compile(expression); err != nil {
			return usageError(fmt.Errorf("--%s: %w", name, err))
		}
	}
	switch {
	case cmd.Flags().Changed("outside"):
		return usageError(errors.New("--outside and --conformance exclude each other: run verify twice"))
	case c.parallel < 1 || c.parallel > 100:
		return usageError(errors.New("--parallel must be from 1 to 100"))
	case c.timeout < time.Minute:
		return usageError(errors.New("--timeout must be a minute or more"))
	}
	return nil
}

// variables returns the variables of the playbook. Its paths are those of the controller.
func (c *conformanceFlags) variables(cluster string) map[string]any {
	dir := cmp.Or(c.results, fmt.Sprintf("conformance-%s-%s", cluster, time.Now().Format("20060102T150405")))
	junit := ""
	if c.junit != "" {
		junit = project.Absolute(c.junit)
	}
	return map[string]any{
		"conformance_focus": cmp.Or(c.focus, conformance.DefaultFocus), "conformance_skip": c.skip,
		"conformance_parallel": c.parallel, "conformance_timeout": c.timeout.String(),
		"conformance_dir": project.Absolute(filepath.Clean(dir)), "conformance_junit": junit,
	}
}

const conformanceQuestion = `The tests run with the rights of cluster-admin: they create and remove namespaces, workloads and
cluster-wide objects, and some taint or fill nodes. Run them in a cluster without users.
Run the conformance tests in cluster %s?`

// verifyConformance runs the tests, prints their rows, and returns exitUnhealthy when tests failed. Tests
// that could not be run to their end are an error.
func verifyConformance(ctx context.Context, e env, o runOptions, c conformanceFlags, output string) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	runner := newRunner(e)
	runner.Options.Conformance = true
	p, err := project.LoadCluster(o.Inventory, runner.Options)
	if err != nil {
		return err
	}
	given.Verb, given.Extra = "conformance", c.variables(p.Cluster.Name)
	r, err := runner.Inspect(given)
	if err != nil {
		return err
	}
	if err := requireYes(e, c.yes, fmt.Sprintf(conformanceQuestion, p.Cluster.Name)); err != nil {
		return err
	}
	found := &runs.CheckRows{}
	done, err := runWithDisplay(ctx, r, o.display(e.stderr, r.Hosts).with(found), r.Do)
	if err != nil {
		return err
	}
	if done.Interrupted {
		return exitSilently(exitInterrupted)
	}
	rows := found.All()
	for _, h := range done.Broken() {
		if h.RunOnce || len(rows) == 0 {
			return fmt.Errorf("the conformance tests were not run to their end: %s: %s", h.FailedStep, h.Failure.Message)
		}
		rows = append(rows, report.Bad("host", h.Host, "%s", h.Failure.Message))
	}
	if output == "json" {
		err = printJSON(e.stdout, rows)
	} else {
		err = printConformance(e.stdout, rows, project.Relative(given.Extra["conformance_dir"].(string)))
	}
	if err == nil && len(report.Problems(rows)) > 0 {
		return exitSilently(exitUnhealthy)
	}
	return err
}
