package operations

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/limit"
	"deployer/project"
	"deployer/strictyaml"
)

// RolloutPlan is the file of upgrade --rollout: the order in which an upgrade reaches the
// minions, and its limits. A flag that is given replaces the key of the same name.
type RolloutPlan struct {
	Steps          []RolloutStep               `yaml:"steps" doc:"parts of the minions, changed one after the other; minions in no step come last"`
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

// RolloutStep is a group of hosts, or several that are changed side by side.
type RolloutStep struct {
	RolloutGroup
	Parallel []RolloutGroup `yaml:"parallel" doc:"groups that are changed side by side, instead of hosts"`
}

// RolloutGroup are hosts with limits of their own.
type RolloutGroup struct {
	Name      string                               `yaml:"name" doc:"for people"`
	Hosts     strictyaml.Section[strictyaml.Texts] `yaml:"hosts" doc:"group or pattern of hosts, or a list of them"`
	BatchSize *limit.Limit                         `yaml:"batch_size" doc:"maximum number or share of the group in work at the same time, beside the batch size of the upgrade"`
	MaxFail   *limit.Limit                         `yaml:"max_fail" doc:"number or share of the group that may fail; replaces that of the upgrade for these hosts"`
}

// groups returns the groups of a step.
func (s RolloutStep) groups() []RolloutGroup {
	if len(s.Parallel) > 0 {
		return s.Parallel
	}
	return []RolloutGroup{s.RolloutGroup}
}

// ReadRolloutPlan reads a file. Errors name its lines.
func ReadRolloutPlan(file string) (RolloutPlan, error) {
	out := RolloutPlan{file: file}
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

// Replace sets the options that the file has. given reports whether the caller has set the option
// of a flag, which stays then.
func (r RolloutPlan) Replace(o *UpgradeOptions, given func(flag string) bool) {
	o.Rollout = r
	replace(&o.BatchSize, r.BatchSize, given("batch-size"))
	replace(&o.MaxFail, r.MaxFail, given("max-fail"))
	replace(&o.Canary, r.Canary, given("canary"))
	replace(&o.Soak, r.Soak, given("soak"))
	replace(&o.Pause, r.Pause, given("pause"))
	if !given("max-unavailable") {
		for _, e := range r.MaxUnavailable {
			o.MaxUnavailable = append(o.MaxUnavailable, cluster.LabelLimit{Label: e.Key, Limit: e.Value})
		}
	}
	if r.Spread != "" && !given("spread") {
		o.Spread = r.Spread
	}
	if len(r.Critical) > 0 && !given("critical") {
		o.Critical = r.Critical
	}
}

// replace sets an option to the value of the file, if there is one and the caller gave none.
func replace[T any](option, value *T, given bool) {
	if value != nil && !given {
		*option = *value
	}
}

// vars returns the steps as the variable upgrade_steps of the playbook.
func (r RolloutPlan) vars() []any {
	group := func(g RolloutGroup) map[string]any {
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
			out = append(out, group(s.RolloutGroup))
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

// StepHosts are the minions of a group.
type StepHosts struct {
	RolloutGroup
	Minions []string
}

// Resolve returns the minions of each group of each step. Groups without minions are
// a *project.UserError: they are typing errors, or hosts that are changed as masters.
func (r RolloutPlan) Resolve(p *project.Project) ([][]StepHosts, error) {
	minions := PlainMinions(p.Cluster)
	left := slices.Clone(minions)
	var out [][]StepHosts
	var errs []error
	for _, s := range r.Steps {
		var step []StepHosts
		for _, g := range s.groups() {
			one := StepHosts{RolloutGroup: g}
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
						one.Minions = append(one.Minions, h)
					}
				}
			}
			step = append(step, one)
		}
		out = append(out, step)
	}
	if len(errs) > 0 {
		return nil, project.AsUserError(errors.Join(errs...))
	}
	return out, nil
}

// PlainMinions returns the minions that are no masters, which an upgrade changes after the masters.
func PlainMinions(c *cluster.Cluster) []string {
	return slices.DeleteFunc(slices.Clone(c.Minions), func(name string) bool { return c.Nodes[name].IsMaster })
}
