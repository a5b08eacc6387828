package operations

import (
	"fmt"
	"slices"
	"sync"

	"deployer/engine"
)

// VersionChange is a change of the same versions on some hosts.
type VersionChange struct {
	Component, From, To string
	Hosts               []string
}

// VersionChanges are the versions that an upgrade changes.
type VersionChanges struct {
	Changes []VersionChange // in the order of an upgrade
	// Irreversible are the changes that a rollback does not take back, a line for each.
	Irreversible []string
}

// versionCollector collects the versions that an upgrade changes, which its checks register. It is
// an engine.Sink, safe for concurrent use.
type versionCollector struct {
	mu    sync.Mutex
	found VersionChanges
}

// Emit implements engine.Sink.
func (v *versionCollector) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	out := e.ActionOutput()
	list, ok := out["changes"].([]any)
	if !ok || len(v.found.Changes) > 0 { // every host of a run_once task has its result
		return
	}
	for _, one := range list {
		m, _ := one.(map[string]any)
		v.found.add(fmt.Sprint(m["component"]), fmt.Sprint(m["from"]), fmt.Sprint(m["to"]), fmt.Sprint(m["host"]))
	}
	texts, _ := out["irreversible"].([]any)
	for _, text := range texts {
		v.found.Irreversible = append(v.found.Irreversible, fmt.Sprint(text))
	}
}

func (v *VersionChanges) add(component, from, to, host string) {
	i := slices.IndexFunc(v.Changes, func(c VersionChange) bool { return c.Component == component && c.From == from && c.To == to })
	if i < 0 {
		i = len(v.Changes)
		v.Changes = append(v.Changes, VersionChange{Component: component, From: from, To: to})
	}
	v.Changes[i].Hosts = append(v.Changes[i].Hosts, host)
}

// changes returns the changes of known components.
func (v *versionCollector) changes() VersionChanges {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := VersionChanges{Irreversible: v.found.Irreversible}
	for _, component := range UpgradeComponents {
		for _, c := range v.found.Changes {
			if c.Component == component {
				out.Changes = append(out.Changes, c)
			}
		}
	}
	return out
}
