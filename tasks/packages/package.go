// Package packages has the modules for packages of the host's distribution and
// for the sources that they come from: apt, dnf and zypper behind one interface.
package packages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/strictyaml"
)

// Package installs or removes packages, all of them in one transaction.
type Package struct {
	Name              strictyaml.Texts `yaml:"name" rule:"package" doc:"name in the host's distribution, or a list of names. \"a=1.2\" wants this version, with apt and dnf also \"a=1.*\", \"a|b\" is satisfied by either and installs the first, \"/path/a.deb\" installs a file that is on the host, \"*\" with state latest means all installed packages. Without a name, update_cache only updates the lists of packages"`
	State             string           `yaml:"state" enum:"present,latest,absent" doc:"present, absent, or latest: the newest version that the package sources offer. Default present"`
	UpdateCache       bool             `yaml:"update_cache" doc:"update the lists of packages first, in a dry run too, when they are older than cache_valid_time or than a package source. Otherwise they are updated only when a package is not found. Default false"`
	CacheValidTime    time.Duration    `yaml:"cache_valid_time" range:"0s.." doc:"maximum age of the lists with update_cache; default 1h"`
	InstallRecommends bool             `yaml:"install_recommends" doc:"install recommended packages too; default false"`
	AllowDowngrade    bool             `yaml:"allow_downgrade" doc:"downgrade to a given older version; dnf always does. Default false"`
	Purge             bool             `yaml:"purge" doc:"with state absent and apt: also remove the configuration files. Default false"`
	Autoremove        bool             `yaml:"autoremove" doc:"with state absent: also remove packages that were installed only for the removed ones. Default false"`
	LockTimeout       time.Duration    `yaml:"lock_timeout" range:"0s.." doc:"maximum wait for another package manager, such as unattended upgrades; default 10m"`
}

var _ engine.Module = (*Package)(nil)

const (
	defaultLockTimeout = 10 * time.Minute // unattended upgrades after boot may take that long
	defaultCacheValid  = time.Hour
)

// options are the settings of a package manager for one call.
type options struct {
	recommends, downgrade, purge, autoremove bool
	lockTimeout                              time.Duration
}

func (p *Package) options() options {
	return options{p.InstallRecommends, p.AllowDowngrade, p.Purge, p.Autoremove, cmp.Or(p.LockTimeout, defaultLockTimeout)}
}

// Valid implements engine.Validator.
func (p *Package) Valid() error {
	if p.Name == nil && !p.UpdateCache {
		return errors.New("name is missing: give the packages")
	}
	_, err := p.wants()
	return err
}

// Check queries the package database, and the package sources only where it must.
func (p *Package) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := p.Valid(); err != nil {
		return engine.Change{}, err
	}
	wants, err := p.wants()
	switch {
	case err != nil:
		return engine.Change{}, err
	case len(wants) == 0 && !p.UpdateCache:
		return engine.Change{}, nil
	}
	m, err := detect(sys, p.options())
	if err != nil {
		return engine.Change{}, err
	}
	if p.UpdateCache {
		if err := refreshLists(ctx, sys, m, cmp.Or(p.CacheValidTime, defaultCacheValid)); err != nil {
			return engine.Change{}, err
		}
	}
	if len(wants) == 0 {
		return engine.Change{}, nil
	}
	jobs, err := p.jobs(ctx, sys, m, wants)
	if err != nil {
		return engine.Change{}, err
	}
	change := engine.Change{Needed: len(jobs) > 0, CheckState: jobs}
	for _, j := range jobs {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectPackage, Target: j.name, Action: j.action()})
	}
	return change, nil
}

// jobs returns the operations that are needed.
func (p *Package) jobs(ctx context.Context, sys engine.System, m manager, wants []want) ([]job, error) {
	for i, w := range wants {
		if w.file == "" {
			continue
		}
		var err error
		if wants[i].choices, wants[i].version, err = contents(ctx, sys, m, w.file); err != nil {
			return nil, err
		}
	}
	if everything(wants) {
		return allJobs(ctx, sys, m)
	}
	installed, err := m.installed(ctx, sys, names(wants))
	if err != nil {
		return nil, err
	}
	switch p.State {
	case "absent":
		return toRemove(wants, installed, p.Purge), nil
	case "latest":
		newer, err := m.newer(ctx, sys, names(wants))
		return toUpgrade(wants, installed, newer), noSource(err, names(wants))
	}
	return toInstall(wants, installed), nil
}

func allJobs(ctx context.Context, sys engine.System, m manager) ([]job, error) {
	newer, err := m.newer(ctx, sys, nil)
	if err != nil {
		return nil, noSource(err, []string{"newer packages"})
	}
	installed, err := m.installed(ctx, sys, slices.Sorted(maps.Keys(newer)))
	return toUpgradeAll(installed, newer), err
}

// Apply installs, upgrades or removes, and verifies the result.
func (p *Package) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	jobs, _ := change.CheckState.([]job)
	m, err := detect(sys, p.options())
	if err != nil {
		return nil, err
	}
	if err := keepAll(ctx, sys, m, jobs); err != nil {
		return nil, err
	}
	install, upgrade, remove := sorted(jobs)
	upgradeThem := func(ctx context.Context, sys engine.System, jobs []job) error {
		return m.upgrade(ctx, sys, jobs, slices.Equal(p.Name, []string{all}))
	}
	for _, do := range []struct {
		what string
		jobs []job
		run  func(context.Context, engine.System, []job) error
	}{{"removing", remove, m.remove}, {"installing", install, m.install}, {"upgrading", upgrade, upgradeThem}} {
		if len(do.jobs) == 0 {
			continue
		}
		sys.Progress(do.what + " " + strings.Join(targets(do.jobs), " "))
		if err := do.run(ctx, sys, do.jobs); err != nil {
			return nil, noSource(err, targets(do.jobs))
		}
	}
	return engine.Output{"packages": targets(jobs)}, p.confirm(ctx, sys, m)
}

// confirm reads the package database again: managers succeed, too, when a name stands
// for another package, or a version is held.
func (p *Package) confirm(ctx context.Context, sys engine.System, m manager) error {
	again := *p
	if p.State == "latest" {
		again.State = "present"
	}
	wants, err := p.wants()
	if err != nil || everything(wants) {
		return err
	}
	left, err := again.jobs(ctx, sys, m, wants)
	if err == nil && len(left) > 0 {
		return fmt.Errorf("%s succeeded, but the package database does not show the change of %s", m.name(), strings.Join(targets(left), ", "))
	}
	return err
}

// noSourceSigns are parts of the messages of apt, dnf and zypper for packages that could not be
// downloaded.
var noSourceSigns = []string{
	"Could not resolve", "Temporary failure resolving", "Could not connect", "Failed to fetch", "Unable to connect",
	"Unable to locate package", "has no installation candidate", // apt without any source
	"Cannot download repomd.xml", "Could not resolve host", "Failed to download metadata", "There are no enabled repositories",
	"No more mirrors to try", "Download (curl) error", "No repositories defined", "Unable to find a match", "No provider of",
}

// noSource adds advice when no package source answered.
func noSource(err error, names []string) error {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || !says(failure, noSourceSigns...) {
		return err
	}
	return &engine.Failure{
		Message: fmt.Sprintf("no package source of this host offers %s: give it a source that can be reached, or install the packages in its image",
			strings.Join(names, " ")),
		Detail: failure.Detail,
	}
}

func says(failure *engine.Failure, signs ...string) bool {
	for _, sign := range signs {
		if strings.Contains(failure.Detail, sign) || strings.Contains(failure.Message, sign) {
			return true
		}
	}
	return false
}
