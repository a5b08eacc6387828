package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/schedule"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/project"
)

func newApplyCommand(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "apply PLAN",
		GroupID: "runs",
		Short:   "Do what a plan says, and nothing else",
		Long: `Apply carries out a plan that deployer plan has written. First it looks at all
files and hosts again, and refuses, with all differences at once, when the
inventory, the playbook or a host is not what the plan was made for. Then each
step is held to the plan on its host: one that would do something else fails
before it does it.

A refusal has the exit code 4, and nothing was changed. When it was stopped in
the middle, deployer resume goes on with it.`,
		Example: "  deployer apply plan.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, digest, err := readPlan(args[0])
			if err != nil {
				return usageError(err)
			}
			return apply(cmd.Context(), e, p, o, planned{file: project.Absolute(args[0]), digest: digest})
		},
	}
	outputFlag(cmd, &o.output, "text", "json")
	askFlags(cmd, &o.ask)
	cmd.Flags().CountVarP(&o.verbose, "verbose", "v", "show unchanged steps and diffs; twice: skipped steps and waits too")
	cmd.Flags().IntVar(&o.forks, "forks", 0, "most hosts that are worked on at once (default: the plan's, the inventory's, or 50)")
	cmd.Flags().StringArrayVarP(&o.extraVars, "extra-vars", "e", nil, "`variables` that the plan holds only by name, as they look like secrets; may be given again")
	cmd.Flags().DurationVar(&o.lockTimeout, "lock-timeout", 0, "how long to wait for another run that holds the hosts (default: be refused)")
	return cmd
}

// planned is the plan that a run applies.
type planned struct {
	file, digest string
	resumes      string // the run that it goes on from, or empty
}

func readPlan(path string) (*plan.Plan, string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading the plan: %w", err)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, "", fmt.Errorf("%s is no plan: %w", path, err)
	}
	if head.Format != plan.Format {
		return nil, "", fmt.Errorf("%s is a plan of format %d, this deployer knows %d: make a new one", path, head.Format, plan.Format)
	}
	p := &plan.Plan{}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(p); err != nil {
		return nil, "", fmt.Errorf("%s is no plan: %w", path, err)
	}
	if err := p.Valid(); err != nil {
		return nil, "", fmt.Errorf("%s is damaged: %w", path, err)
	}
	sum := sha256.Sum256(data)
	return p, hex.EncodeToString(sum[:]), nil
}

// apply looks at everything again, and does it when it is as planned.
func apply(ctx context.Context, e env, p *plan.Plan, given runOptions, what planned) error {
	o := optionsOf(p.Call)
	o.output, o.verbose, o.lockTimeout, o.extraVars, o.ask = given.output, given.verbose, given.lockTimeout, given.extraVars, given.ask
	if given.forks > 0 {
		o.forks = given.forks
	}
	x, err := again(e, p.Call, o)
	if err != nil {
		return err
	}
	if missing := missingExtra(p.Call.Withheld, x.extra); len(missing) > 0 {
		return usageError(fmt.Errorf("give these variables again with -e, as they look like secrets and are not in the plan: %s", strings.Join(missing, ", ")))
	}
	if drift := programDrift(p); len(drift)+len(plan.FileDrift(p, x.project.Files(), false)) > 0 {
		return refuse(e, append(drift, plan.FileDrift(p, x.project.FilesAhead(p.Files), false)...))
	}
	x.hosts = namesOf(p)
	x.resumes, x.plan = what.resumes, &journal.Plan{File: what.file, SHA256: what.digest}
	s, err := x.begin(ctx)
	if err != nil {
		return err
	}
	report, drift, err := s.apply(p)
	if err = errors.Join(err, s.end()); err != nil {
		return err
	}
	if len(drift) > 0 {
		return refuse(e, drift)
	}
	return x.finish(report)
}

// apply is a dry run, which must find what the plan has, and the run itself. The
// hosts stay connected and locked in between. The report is that of the dry run
// when that did not come to its end.
func (s *session) apply(p *plan.Plan) (report *engine.Report, drift []plan.Drift, err error) {
	x := s.x
	sessions := schedule.Keep(s.reach)
	defer sessions.Close()
	found := plan.NewCollector()
	look := s.options()
	look.Connector, look.Check, look.Sink = sessions, true, view.Tee(found, onlyTrouble{s.renderer, x.options.output == "json"})
	report, err = schedule.Run(s.ctx, x.program, look)
	if err != nil {
		return nil, nil, err
	}
	if end := report.Outcome(); end == engine.RunStopped || end == engine.RunInterrupted {
		return report, nil, nil
	}
	now := found.Plan(x.hosts)
	drift = plan.FileDrift(p, x.project.Files(), true)
	if x.resumes == "" {
		drift = append(drift, plan.HostDrift(p, now)...)
	} else {
		drift = append(drift, plan.Beyond(p, now)...)
	}
	if len(drift) > 0 {
		return nil, drift, nil
	}
	if err := s.record(); err != nil {
		return nil, nil, err
	}
	run := s.options()
	run.Connector, run.Expect = sessions, plan.NewEnforcer(p).Of
	report, err = schedule.Run(s.ctx, x.program, run)
	return report, nil, err
}

func namesOf(p *plan.Plan) []string {
	names := make([]string, len(p.Hosts))
	for i, h := range p.Hosts {
		names[i] = h.Name
	}
	return names
}

// programDrift: another deployer has other playbooks of its own, and may see
// hosts in another way.
func programDrift(p *plan.Plan) []plan.Drift {
	if p.Deployer == version {
		return nil
	}
	return []plan.Drift{{What: "deployer", How: fmt.Sprintf("is version %s, the plan was made by %s", version, p.Deployer)}}
}

// shownDrift is how many lines of drift are shown.
const shownDrift = 30

// refuse shows all drift, hosts with the same together.
func refuse(e env, drift []plan.Drift) error {
	fmt.Fprintln(e.stderr, "refused: this is not what the plan was made for")
	order, whats := []string{}, map[string][]string{}
	for _, d := range drift {
		if whats[d.How] == nil {
			order = append(order, d.How)
		}
		whats[d.How] = append(whats[d.How], project.Relative(d.What))
	}
	for i, how := range order {
		if i == shownDrift {
			fmt.Fprintf(e.stderr, "  and %d more\n", len(order)-i)
			break
		}
		printDrift(e.stderr, whats[how], how)
	}
	return &exitError{exitRefused, errors.New("nothing was changed; make a new plan, or put back what differs")}
}

func printDrift(w io.Writer, whats []string, how string) {
	fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(whats), strings.ReplaceAll(how, "\n", " "))
}
