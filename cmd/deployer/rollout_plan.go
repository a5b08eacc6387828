package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"deployer/cluster"
	"deployer/inventory"
	"deployer/limit"
	"deployer/project"
	"deployer/strictyaml"
)

// rolloutPlan is the file of upgrade --rollout: the order in which an upgrade reaches the
// minions, and its limits. A flag that is given replaces the key of the same name.
type rolloutPlan struct {
	Steps          []rolloutStep               `yaml:"steps" doc:"parts of the minions, changed one after the other; minions in no step come last"`
	BatchSize      *limit.Limit                `yaml:"batch_size" doc:"as --batch-size"`
	MaxFail        *limit.Limit                `yaml:"max_fail" doc:"as --max-fail"`
	Canary         *int                        `yaml:"canary" doc:"as --canary"`
	Soak           *time.Duration              `yaml:"soak" doc:"as --soak"`
	Pause          *bool                       `yaml:"pause" doc:"as --pause"`
	MaxUnavailable strictyaml.Map[limit.Limit] `yaml:"max_unavailable" doc:"limits by label, as --max-unavailable"`
	Spread         string                      `yaml:"spread" doc:"as --spread"`
	Critical       []string                    `yaml:"critical" doc:"as --critical"`
	file           string
}

// rolloutStep is a group of hosts, or several that are changed side by side.
type rolloutStep struct {
	rolloutGroup
	Parallel []rolloutGroup `yaml:"parallel" doc:"groups that are changed side by side, instead of hosts"`
}

// rolloutGroup are hosts with limits of their own.
type rolloutGroup struct {
	Name      string                               `yaml:"name" doc:"for people"`
	Hosts     strictyaml.Section[strictyaml.Texts] `yaml:"hosts" doc:"group or pattern of hosts, or a list of them"`
	BatchSize *limit.Limit                         `yaml:"batch_size" doc:"maximum number or share of the group in work at the same time, beside the batch size of the upgrade"`
	MaxFail   *limit.Limit                         `yaml:"max_fail" doc:"number or share of the group that may fail; replaces that of the upgrade for these hosts"`
}

// groups returns the groups of a step.
func (s rolloutStep) groups() []rolloutGroup {
	if len(s.Parallel) > 0 {
		return s.Parallel
	}
	return []rolloutGroup{s.rolloutGroup}
}

// readRolloutPlan reads a file. Errors name its lines.
func readRolloutPlan(file string) (rolloutPlan, error) {
	out := rolloutPlan{file: file}
	data, err := os.ReadFile(file)
	if err != nil {
		return out, fmt.Errorf("--rollout: %w", err)
	}
	root, err := strictyaml.Parse(file, data)
	if err == nil {
		err = strictyaml.DecodeAs(file, "rollout plan", root, &out)
	}
	if err != nil {
		return out, err
	}
	var errs []error
	for i, s := range out.Steps {
		if len(s.Parallel) > 0 && (s.Hosts.Node != nil || s.BatchSize != nil || s.MaxFail != nil) {
			errs = append(errs, fmt.Errorf("%s: steps[%d]: parallel stands alone; write hosts, batch_size and max_fail into its groups", file, i))
		}
		for _, g := range s.groups() {
			if len(g.Hosts.Value) == 0 && len(s.Parallel) == 0 {
				errs = append(errs, fmt.Errorf("%s: steps[%d]: hosts is missing", file, i))
			} else if len(g.Hosts.Value) == 0 {
				errs = append(errs, fmt.Errorf("%s: steps[%d].parallel: a group has no hosts", file, i))
			}
		}
	}
	return out, errors.Join(errs...)
}

// apply sets the options that the file has and no flag.
func (r rolloutPlan) apply(o *upgradeOptions, flags *pflag.FlagSet) {
	free := func(flag string) bool { return !flags.Changed(flag) }
	if r.BatchSize != nil && free("batch-size") {
		o.batch = r.BatchSize.String()
	}
	if r.MaxFail != nil && free("max-fail") {
		o.maxFail = r.MaxFail.String()
	}
	if r.Canary != nil && free("canary") {
		o.canary = *r.Canary
	}
	if r.Soak != nil && free("soak") {
		o.soak = *r.Soak
	}
	if r.Pause != nil && free("pause") {
		o.pause = *r.Pause
	}
	if free("max-unavailable") {
		for _, e := range r.MaxUnavailable {
			o.maxUnavailable = append(o.maxUnavailable, e.Key+"="+e.Value.String())
		}
	}
	if r.Spread != "" && free("spread") {
		o.spread = r.Spread
	}
	if len(r.Critical) > 0 && free("critical") {
		o.critical = r.Critical
	}
}

// vars returns the steps as the variable upgrade_steps of the playbook.
func (r rolloutPlan) vars() []any {
	group := func(g rolloutGroup) map[string]any {
		hosts := []any{}
		for _, h := range g.Hosts.Value {
			hosts = append(hosts, h)
		}
		out := map[string]any{"hosts": hosts}
		if g.BatchSize != nil {
			out["max_parallel"] = g.BatchSize.String()
		}
		if g.MaxFail != nil {
			out["max_fail"] = g.MaxFail.String()
		}
		return out
	}
	out := []any{}
	for _, s := range r.Steps {
		if len(s.Parallel) == 0 {
			out = append(out, group(s.rolloutGroup))
			continue
		}
		var side []any
		for _, g := range s.Parallel {
			side = append(side, group(g))
		}
		out = append(out, map[string]any{"parallel": side})
	}
	return out
}

// stepHosts are the minions of a group.
type stepHosts struct {
	rolloutGroup
	minions []string
}

// resolve returns the minions of each group of each step. Groups without minions are
// errors: they are typing errors, or hosts that are changed as masters.
func (r rolloutPlan) resolve(p *project.Project) ([][]stepHosts, error) {
	minions := minionsOf(p.Cluster)
	left := slices.Clone(minions)
	var out [][]stepHosts
	var errs []error
	for _, s := range r.Steps {
		var step []stepHosts
		for _, g := range s.groups() {
			one := stepHosts{rolloutGroup: g}
			for _, pattern := range g.Hosts.Value {
				hosts, err := p.Match(pattern)
				if err == nil && !slices.ContainsFunc(hosts, func(h string) bool { return slices.Contains(minions, h) }) {
					err = fmt.Errorf("pattern %q matches no minion", pattern)
				}
				if err != nil {
					errs = append(errs, strictyaml.At(r.file, g.Hosts.Node).Errorf("hosts: %v", err))
				}
				for _, h := range hosts {
					if i := slices.Index(left, h); i >= 0 {
						left = slices.Delete(left, i, i+1)
						one.minions = append(one.minions, h)
					}
				}
			}
			step = append(step, one)
		}
		out = append(out, step)
	}
	if len(errs) > 0 {
		return nil, usageError(errors.Join(errs...))
	}
	return out, nil
}

// minionsOf returns the minions that are no masters.
func minionsOf(c *cluster.Cluster) []string {
	return slices.DeleteFunc(slices.Clone(c.Minions), func(name string) bool { return c.Nodes[name].IsMaster })
}

// printSteps prints the hosts of each step with their limits.
func printSteps(w io.Writer, c *cluster.Cluster, steps [][]stepHosts) {
	left := minionsOf(c)
	for i, step := range steps {
		for j, g := range step {
			place := fmt.Sprintf("step %d", i+1)
			if j > 0 {
				place = "beside it"
			}
			if g.Name != "" {
				place += ", " + g.Name
			}
			line := fmt.Sprintf("     %s: %s", place, inventory.CompressText(g.minions))
			if g.BatchSize != nil {
				line += fmt.Sprintf(", at most %d at a time", max(g.BatchSize.Of(len(g.minions)), 1))
			}
			if g.MaxFail != nil {
				line += fmt.Sprintf(", %d may fail", g.MaxFail.Of(len(g.minions)))
			}
			fmt.Fprintln(w, line)
			left = slices.DeleteFunc(left, func(h string) bool { return slices.Contains(g.minions, h) })
		}
	}
	if len(steps) > 0 && len(left) > 0 {
		fmt.Fprintf(w, "     then the others: %s\n", inventory.CompressText(left))
	}
}
