// Package config reads deployer.ci.yaml, the configuration of CI runs: environments with
// their inventories and gates, stages, secrets. [Parse] reads the file, [Default] returns
// the configuration of a repository without it. Errors have file, line and column; the
// package opens no file.
package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"deployer/ci/gate"
	"deployer/engine/graph"
	"deployer/strictyaml"
)

// File is the name of the file, at the top of the repository.
const File = "deployer.ci.yaml"

// Config is the content of deployer.ci.yaml with all defaults set.
type Config struct {
	Environments strictyaml.Map[Environment] `yaml:"environments" each:"environment" doc:"Sets of clusters, in the order in which they are deployed unless needs says otherwise; default: production with inventory.yaml."`
	Stages       strictyaml.Map[Stage]       `yaml:"stages" each:"stage" doc:"What a run does; default: validate, plan, gate, then deploy and verify for each environment."`
	Secrets      []Secret                    `yaml:"secrets" doc:"Values that are masked in all output and reports, and that stages get as environment variables."`
	Remote       string                      `yaml:"remote" doc:"Remote of git that keeps the state of runs (refs/deployer/), such as origin, for runners that are new every time; default: the repository itself."`
	Metrics      string                      `yaml:"metrics" doc:"File that gets the metrics of each run, for the textfile collector of Prometheus' node exporter; default: none."`
}

// Environment is a set of clusters that are deployed together.
type Environment struct {
	Inventories    []string   `yaml:"inventories" required:"true" doc:"Inventory files, or patterns such as clusters/*/inventory.yaml; relative to the repository."`
	Needs          []string   `yaml:"needs" doc:"Environments that must be verified before this one is deployed; default: the environment before this one in the file. Environments that do not need each other are deployed at the same time."`
	Gates          gate.Rules `yaml:"gates" doc:"Rules that a push must keep."`
	OnFailedVerify string     `yaml:"on_failed_verify" enum:"rollback,stop" default:"rollback" doc:"What follows when a cluster does not pass verify after a deploy: rollback goes to the last verified revision; stop leaves it as it is."`
	Rollout        string     `yaml:"rollout" doc:"File with the rollout plan of upgrades; see deployer upgrade --rollout."`
	UpgradeArgs    []string   `yaml:"upgrade_args" doc:"Flags of deployer upgrade, such as --batch-size=5%."`
	LockTimeout    string     `yaml:"lock_timeout" default:"30m" doc:"How long to wait for the lock of hosts that another run holds."`
}

// The built-in stages.
const (
	Validate = "validate"
	Plan     = "plan"
	Gate     = "gate"
	Deploy   = "deploy"
	Verify   = "verify"
)

// Stage is one step of a run.
type Stage struct {
	Uses        string            `yaml:"uses" enum:"validate,plan,gate,deploy,verify" doc:"A stage of deployer; a stage has this or command."`
	Environment string            `yaml:"environment" doc:"Environment of deploy and verify."`
	Command     []string          `yaml:"command" doc:"A command of your own, started at the top of the checked-out revision."`
	Needs       []string          `yaml:"needs" doc:"Stages that must have passed before; default: the stage before this one in the file. Stages that do not need each other run at the same time."`
	Inputs      map[string]string `yaml:"inputs" doc:"Environment variables of this stage by name: STAGE.OUTPUT is the output of a stage, any other text is the value."`
	Outputs     []string          `yaml:"outputs" doc:"Names of the values that the command writes as NAME=VALUE lines to the file $DEPLOYER_CI_OUTPUT."`
	Artifacts   []string          `yaml:"artifacts" doc:"Patterns of files that the command leaves and that are kept with the reports; a file that contains a secret is refused."`
	Timeout     time.Duration     `yaml:"timeout" doc:"Maximum duration; default: none."`
	AllowFail   bool              `yaml:"allow_fail" default:"false" doc:"Whether the run goes on when the stage fails."`
}

// Secret is a value that is masked in output and reports.
type Secret struct {
	Env  string `yaml:"env" doc:"Name of the environment variable."`
	File string `yaml:"file" doc:"File with the value, outside of the repository; default: the value of the variable."`
}

// Default returns the configuration of a repository without deployer.ci.yaml.
func Default() *Config {
	c := &Config{Environments: strictyaml.Map[Environment]{{Key: "production", Value: Environment{Inventories: []string{"inventory.yaml"}}}}}
	c.complete()
	return c
}

// Parse reads the file; name is used in messages.
func Parse(name string, data []byte) (*Config, error) {
	root, err := strictyaml.Parse(name, data)
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if err := strictyaml.Decode(name, root, c); err != nil {
		return nil, err
	}
	if len(c.Environments) == 0 {
		c.Environments = Default().Environments
	}
	if err := strictyaml.Join(c.checkNeeds()...); err != nil { // the default stages follow from them
		return nil, err
	}
	c.complete()
	if err := strictyaml.Join(c.check(name)...); err != nil {
		return nil, err
	}
	return c, nil
}

// complete sets the defaults.
func (c *Config) complete() {
	for i := range c.Environments {
		e := &c.Environments[i].Value
		if e.OnFailedVerify == "" {
			e.OnFailedVerify = "rollback"
		}
		if e.LockTimeout == "" {
			e.LockTimeout = "30m"
		}
	}
	if len(c.Stages) == 0 {
		c.Stages = defaultStages(c.Environments)
	}
	for i := range c.Stages {
		if s := &c.Stages[i].Value; s.Needs == nil && i > 0 {
			s.Needs = []string{c.Stages[i-1].Key}
		}
	}
}

// defaultStages returns validate, plan and gate, then deploy and verify for each
// environment.
func defaultStages(environments strictyaml.Map[Environment]) (out strictyaml.Map[Stage]) {
	add := func(pos strictyaml.Pos, name string, s Stage) {
		out = append(out, strictyaml.Entry[Stage]{Key: name, Pos: pos, Value: s})
	}
	for _, uses := range []string{Validate, Plan, Gate} {
		add(strictyaml.Pos{}, uses, Stage{Uses: uses})
	}
	for i, e := range environments {
		before, needs := e.Value.Needs, []string{Gate}
		if before == nil && i > 0 {
			before = []string{environments[i-1].Key}
		}
		for _, name := range before {
			needs = append(needs, Verify+" "+name)
		}
		deploy := Deploy + " " + e.Key
		add(e.Pos, deploy, Stage{Uses: Deploy, Environment: e.Key, Needs: needs})
		add(e.Pos, Verify+" "+e.Key, Stage{Uses: Verify, Environment: e.Key, Needs: []string{deploy}})
	}
	return out
}

var (
	nameShape     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`)
	variableShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// checkNeeds finds environments that need an unknown one, and needs that have no effect.
func (c *Config) checkNeeds() (errs []error) {
	for _, e := range c.Environments {
		if e.Value.Needs != nil && len(c.Stages) > 0 {
			errs = append(errs, e.Pos.Errorf("environment %s: needs is for the default stages; write needs of the stages instead", e.Key))
		}
		for _, name := range e.Value.Needs {
			if _, known := c.Environments.Get(name); !known {
				errs = append(errs, e.Pos.Errorf("environment %s: needs: there is no environment %q%s", e.Key, name, strictyaml.DidYouMean(name, c.Environments.Keys())))
			}
		}
	}
	return errs
}

func (c *Config) check(file string) (errs []error) {
	fail := func(pos strictyaml.Pos, format string, args ...any) { errs = append(errs, pos.Errorf(format, args...)) }
	top := strictyaml.Pos{File: file}
	for _, e := range c.Environments {
		if !nameShape.MatchString(e.Key) {
			fail(e.Pos, "environment %q: a name has letters, digits, spaces, dots and dashes", e.Key)
		}
		if len(e.Value.Inventories) == 0 {
			fail(e.Pos, "environment %s has no inventories: name at least one file or pattern", e.Key)
		}
		for _, pattern := range append(slices.Clone(e.Value.Inventories), e.Value.Rollout) {
			if !inRepository(pattern) {
				fail(e.Pos, "environment %s: %q leads out of the repository", e.Key, pattern)
			}
			if _, err := path.Match(pattern, ""); err != nil {
				fail(e.Pos, "environment %s: %q is no pattern: %v", e.Key, pattern, err)
			}
		}
		if _, err := time.ParseDuration(e.Value.LockTimeout); err != nil {
			fail(e.Pos, "environment %s: lock_timeout: want a duration such as 30m, got %q", e.Key, e.Value.LockTimeout)
		}
		for _, w := range e.Value.Gates.ControlPlane.Windows {
			if err := w.Check(); err != nil {
				fail(e.Pos, "environment %s: gates.control_plane: %v", e.Key, err)
			}
		}
	}
	for i, s := range c.Secrets {
		switch {
		case !variableShape.MatchString(s.Env):
			fail(top, "secrets[%d]: env must be the name of an environment variable", i)
		case s.File != "" && !path.IsAbs(s.File):
			fail(top, "secrets[%d]: file %q must be an absolute path: a secret is not in the repository", i, s.File)
		}
	}
	return append(errs, c.checkStages()...)
}

func inRepository(p string) bool {
	clean := path.Clean(p)
	return !path.IsAbs(p) && clean != ".." && !strings.HasPrefix(clean, "../")
}

func (c *Config) checkStages() (errs []error) {
	names := c.Stages.Keys()
	order := graph.New[string]()
	order.Add(names...)
	for _, e := range c.Stages {
		s := e.Value
		fail := func(format string, args ...any) {
			errs = append(errs, e.Pos.Errorf("stage "+e.Key+": "+format, args...))
		}
		if !nameShape.MatchString(e.Key) {
			fail("a name has letters, digits, spaces, dots and dashes")
		}
		switch _, known := c.Environments.Get(s.Environment); {
		case (s.Uses == "") == (len(s.Command) == 0):
			fail("name either uses or command")
		case s.Uses != "" && len(s.Outputs)+len(s.Artifacts) > 0:
			fail("outputs and artifacts are for commands")
		case (s.Uses == Deploy || s.Uses == Verify) && !known:
			fail("there is no environment %q%s", s.Environment, strictyaml.DidYouMean(s.Environment, c.Environments.Keys()))
		}
		for _, before := range s.Needs {
			if !slices.Contains(names, before) {
				fail("needs: there is no stage %q%s", before, strictyaml.DidYouMean(before, names))
				continue
			}
			order.AddEdge(before, e.Key)
		}
		for _, output := range s.Outputs {
			if !variableShape.MatchString(output) {
				fail("output %q: a name has letters, digits and _", output)
			}
		}
		for name, value := range s.Inputs {
			if !variableShape.MatchString(name) {
				fail("input %q: a name has letters, digits and _", name)
			}
			if stage, output, is := c.Reference(value); is {
				from, _ := c.Stages.Get(stage)
				switch {
				case !slices.Contains(from.Outputs, output):
					fail("input %s: stage %s has no output %q%s", name, stage, output, strictyaml.DidYouMean(output, from.Outputs))
				case !c.precedes(stage, e.Key):
					fail("input %s: stage %s does not run before this one; name it in needs", name, stage)
				}
			}
		}
	}
	if cycle := order.Cycle(); cycle != nil {
		pos := c.Stages[slices.Index(names, cycle[0])].Pos
		return append(errs, pos.Errorf("stages wait for each other: %s", strings.Join(append(cycle, cycle[0]), " -> ")))
	}
	return append(errs, c.checkParallel()...)
}

// checkParallel finds stages that work on the same environment and may run at the same time.
func (c *Config) checkParallel() (errs []error) {
	for i, e := range c.Stages {
		for _, other := range c.Stages[:i] {
			if s, o := e.Value, other.Value; s.Uses != "" && o.Uses != "" && (s.Environment == o.Environment || s.all() || o.all()) && !c.ordered(e.Key, other.Key) {
				errs = append(errs, e.Pos.Errorf("stage %s: it works on the same clusters as the stage %s and may run at the same time; let one of them need the other", e.Key, other.Key))
			}
		}
	}
	return errs
}

// all reports whether a stage of deployer works on the clusters of all environments.
func (s Stage) all() bool { return s.Uses == Validate || s.Uses == Plan || s.Uses == Gate }

// ordered reports whether one of two stages needs the other, directly or not.
func (c *Config) ordered(a, b string) bool { return c.precedes(a, b) || c.precedes(b, a) }

// Parallel reports whether another stage may run at the same time as a stage.
func (c *Config) Parallel(stage string) bool {
	return slices.ContainsFunc(c.Stages, func(e strictyaml.Entry[Stage]) bool { return e.Key != stage && !c.ordered(stage, e.Key) })
}

// Reference splits STAGE.OUTPUT; is is false for any other text.
func (c *Config) Reference(value string) (stage, output string, is bool) {
	i := strings.LastIndex(value, ".")
	if i < 0 {
		return "", "", false
	}
	_, known := c.Stages.Get(value[:i])
	return value[:i], value[i+1:], known
}

// precedes reports whether a stage needs another one, directly or not.
func (c *Config) precedes(before, after string) bool {
	seen := map[string]bool{}
	var walk func(name string) bool
	walk = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		s, _ := c.Stages.Get(name)
		return slices.ContainsFunc(s.Needs, func(n string) bool { return n == before || walk(n) })
	}
	return walk(after)
}

// Ordered returns the stages in an order that respects their needs, and otherwise that of the file.
func (c *Config) Ordered() []strictyaml.Entry[Stage] {
	order := graph.New[string]()
	order.Add(c.Stages.Keys()...)
	for _, e := range c.Stages {
		for _, before := range e.Value.Needs {
			order.AddEdge(before, e.Key)
		}
	}
	names, err := order.Order()
	if err != nil {
		return c.Stages // Parse has refused cycles
	}
	out := make([]strictyaml.Entry[Stage], 0, len(names))
	for _, name := range names {
		out = append(out, c.Stages[slices.Index(c.Stages.Keys(), name)])
	}
	return out
}

// EnvironmentOf returns the first environment whose inventories have a file; false for none.
func (c *Config) EnvironmentOf(file string) (strictyaml.Entry[Environment], bool) {
	for _, e := range c.Environments {
		if e.Value.Has(file) {
			return e, true
		}
	}
	return strictyaml.Entry[Environment]{}, false
}

// Has reports whether a file is one of the inventories.
func (e Environment) Has(file string) bool {
	return slices.ContainsFunc(e.Inventories, func(pattern string) bool {
		ok, err := path.Match(path.Clean(pattern), file)
		return err == nil && ok
	})
}

// String names the stage's work.
func (s Stage) String() string {
	if s.Uses != "" {
		return strings.TrimSpace(s.Uses + " " + s.Environment)
	}
	return fmt.Sprint(s.Command)
}
