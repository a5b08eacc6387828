package keeper

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/maintenance"
	"deployer/keeper/maintenance/replace"
)

// profiles are the maintenance profiles and the replacement of nodes of one keeper. What they remember of
// nodes is lost with the process; the states of nodes are in their annotations.
type profiles struct {
	maintenance *maintenance.Controller // nil: the inventory has no profiles
	replacement *replace.Controller

	read    map[string]string // contents of the files, by path
	bad     []decide.Problem  // what is wrong with the files
	nextOne map[string]time.Time
	notices notices
}

// passProfiles makes a pass of the maintenance of nodes that is due, while this keeper leads and may act.
func (k *Keeper) passProfiles(ctx context.Context, file config.File) []decide.Problem {
	p := &k.profiles
	p.load(file)
	p.notices.begin(time.Now())
	problems := slices.Clone(p.bad)
	run := func(what, path string, interval time.Duration, pass func(context.Context) error) {
		if now := time.Now(); now.Before(p.nextOne[path]) {
			return
		}
		p.nextOne[path] = time.Now().Add(interval)
		limited, cancel := context.WithTimeoutCause(ctx, passTimeout, fmt.Errorf("timeout after %s", passTimeout))
		defer cancel()
		if err := pass(limited); err != nil {
			k.options.Log.Error(what, "error", err)
			problems = append(problems, decide.Problem{Reason: decide.MaintenanceFailed, Message: what + ": " + err.Error()})
		}
	}
	if c := p.maintenance; c != nil {
		c.Client = k.access.Kube
		c.Record = func(e maintenance.Event) { k.recordOfNode(ctx, file.Host, ofProfile(e)) }
		run("maintenance profiles", file.Keeper.Profiles, c.Config.Interval, c.Pass)
	}
	if c := p.replacement; c != nil {
		c.Client = k.access.Kube
		c.Record = func(e replace.Event) { k.recordOfNode(ctx, file.Host, ofReplacement(e)) }
		run("replacement of nodes", file.Keeper.Replacement, time.Duration(c.Config.Intervals.Requeue), c.Pass)
	}
	return problems
}

// load reads the files when their contents have changed. A controller stays when its file is replaced,
// because it knows drains that go on. A file with a mistake has no effect.
func (p *profiles) load(file config.File) {
	texts := map[string]string{}
	var bad []decide.Problem
	for _, path := range []string{file.Keeper.Profiles, file.Keeper.Replacement} {
		if path == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			bad = append(bad, decide.Problem{Reason: decide.BadMaintenanceFile, Message: err.Error()})
			continue
		}
		texts[path] = string(text)
	}
	if p.read != nil && maps.Equal(p.read, texts) {
		return
	}
	maintained, replaced := p.maintenance, p.replacement
	p.read, p.nextOne, p.notices, p.maintenance, p.replacement = texts, map[string]time.Time{}, notices{}, nil, nil
	if text, there := texts[file.Keeper.Profiles]; there {
		rules, err := maintenance.Load([]byte(text), file.Keeper.Profiles, os.LookupEnv, nil)
		if err != nil {
			bad = append(bad, decide.Problem{Reason: decide.BadMaintenanceFile, Message: err.Error()})
		} else {
			if p.maintenance = maintained; maintained == nil {
				p.maintenance = &maintenance.Controller{}
			}
			p.maintenance.Config = rules
		}
	}
	if text, there := texts[file.Keeper.Replacement]; there {
		rules, err := replace.Load([]byte(text), file.Keeper.Replacement, os.LookupEnv)
		if err != nil {
			bad = append(bad, decide.Problem{Reason: decide.BadMaintenanceFile, Message: err.Error()})
		} else {
			if p.replacement = replaced; replaced == nil {
				p.replacement = &replace.Controller{}
			}
			p.replacement.Config = rules
		}
	}
	p.bad = bad
}
