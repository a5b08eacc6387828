// Package config reads deployer.ci.yaml, the configuration of CI runs: environments with
// their inventories and gates, stages, secrets. [Parse] reads the file, [Default] returns
// the configuration of a repository without it. Errors have file, line and column; the
// package opens no file.
package config

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"deployer/ci/gate"
	"deployer/strictyaml"
)

// File is the name of the file, at the top of the repository.
const File = "deployer.ci.yaml"

// Config is the content of deployer.ci.yaml with all defaults set.
type Config struct {
	Environments strictyaml.Map[Environment] `yaml:"environments" each:"environment" doc:"Sets of clusters, in the order in which they are deployed unless needs says otherwise; default: production with inventory.yaml."`
	Removed      []string                    `yaml:"removed" doc:"Deleted inventories of removed clusters, each a path relative to the repository; CI removes its state of them."`
	Stages       strictyaml.Map[Stage]       `yaml:"stages" each:"stage" doc:"What a run does; default: validate, plan, gate, then deploy and verify for each environment."`
	Secrets      []Secret                    `yaml:"secrets" doc:"Values that are masked in all output and reports, and that stages get as environment variables."`
	Placeholders map[string]string           `yaml:"placeholders" doc:"Values of environment variables by name, for inventories that read them with !env, while a push is assessed and the variable is not set; default for secrets and outputs of stages: a host name. Name one where an inventory needs another form, such as an address."`
	Remote       string                      `yaml:"remote" doc:"Remote of git that keeps the state of runs (refs/deployer/), such as origin, for runners that are new every time; default: the repository itself."`
	Metrics      string                      `yaml:"metrics" doc:"Ignored: the file of the metrics is a setting of the runner, --metrics or $DEPLOYER_CI_METRICS_FILE."`
}

// Environment is a set of clusters that are deployed together.
type Environment struct {
	Inventories    []string   `yaml:"inventories" required:"true" doc:"Inventory files, or patterns such as clusters/*/inventory.yaml; relative to the repository."`
	Needs          []string   `yaml:"needs" doc:"Environments that must be verified before this one is deployed; default: the environment before this one in the file. Environments that do not need each other are deployed at the same time."`
	Playbooks      []Playbook `yaml:"playbooks" doc:"Playbooks that run on each cluster, in this order, whenever a push changes the cluster or a file of one of them."`
	Gates          gate.Rules `yaml:"gates" doc:"Rules that a push must keep."`
	OnFailedVerify string     `yaml:"on_failed_verify" enum:"rollback,stop" default:"rollback" doc:"What follows when a cluster does not pass verify after a deploy: rollback goes to the last verified revision; stop leaves it as it is."`
	Rollout        string     `yaml:"rollout" doc:"File with the rollout plan of upgrades; see deployer upgrade --rollout."`
	UpgradeArgs    []string   `yaml:"upgrade_args" doc:"Flags of deployer upgrade, such as --batch-size=5%."`
	LockTimeout    string     `yaml:"lock_timeout" default:"30m" doc:"How long to wait for the lock of hosts that another run holds."`
}

// Playbook is a playbook of the repository.
type Playbook struct {
	File  string `yaml:"file" required:"true" doc:"File of the playbook, relative to the repository."`
	Order string `yaml:"order" enum:"before,after" default:"after" doc:"Whether the playbook runs before hosts join and versions change, or after the cluster is as the inventory says."`
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
	if err := strictyaml.Join(c.checkNeeds()...); err != nil { // the default stages depend on the environments
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
		for j := range e.Playbooks {
			if e.Playbooks[j].Order == "" {
				e.Playbooks[j].Order = "after"
			}
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

var (
	nameShape     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._-]*$`)
	remoteShape   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
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
		for i, p := range e.Value.Playbooks {
			switch earlier := e.Value.Playbooks[:i]; {
			case !inRepository(p.File):
				fail(e.Pos, "environment %s: playbook %q leads out of the repository", e.Key, p.File)
			case strings.HasPrefix(path.Clean(p.File), "-"):
				fail(e.Pos, "environment %s: playbook %q: the name of a playbook begins with no dash, which is that of a flag", e.Key, p.File)
			case strings.ContainsAny(p.File, " \t\n"):
				fail(e.Pos, "environment %s: playbook %q: the name of a playbook has no spaces", e.Key, p.File)
			case slices.ContainsFunc(earlier, func(o Playbook) bool { return path.Clean(o.File) == path.Clean(p.File) }):
				fail(e.Pos, "environment %s: playbook %s is named twice", e.Key, p.File)
			}
		}
		for _, w := range e.Value.Gates.ControlPlane.Windows {
			if err := w.Check(); err != nil {
				fail(e.Pos, "environment %s: gates.control_plane: %v", e.Key, err)
			}
		}
	}
	if c.Remote != "" && !remoteShape.MatchString(c.Remote) {
		fail(top, "remote: want the name of a remote of git, such as origin, got %q; an address belongs into the configuration of the runner's clone (git remote add)", c.Remote)
	}
	for i, file := range c.Removed {
		if path.Clean(file) != file || !inRepository(file) {
			fail(top, "removed[%d]: want the path of an inventory, relative to the repository, got %q", i, file)
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
	for name := range c.Placeholders {
		if !variableShape.MatchString(name) {
			fail(top, "placeholders: %q is no name of an environment variable", name)
		}
	}
	return append(errs, c.checkStages()...)
}

func inRepository(p string) bool {
	clean := path.Clean(p)
	return !path.IsAbs(p) && clean != ".." && !strings.HasPrefix(clean, "../")
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
