package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/inventory"
)

// upgradeResults collects what the tasks of an upgrade register for people: the versions
// that change, and the snapshot of etcd.
type upgradeResults struct {
	mu           sync.Mutex
	changes      []versionChange
	irreversible []string
	snapshot     string // host: path
	fingerprint  string // of the key that authenticates the snapshot; empty for none
}

// versionChange is a change of the same versions on some hosts.
type versionChange struct {
	component, from, to string
	hosts               []string
}

// Emit implements engine.Sink.
func (u *upgradeResults) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.addAction(e.ActionOutput())
	out := e.Result.Output
	path, _ := out["path"].(string)
	newest, _ := e.ActionOutput()["host"].(string) // of etcd_newest_snapshot, behind snapshots of several hosts
	if path != "" && out["revision"] != nil && (u.snapshot == "" || newest != "") {
		u.snapshot = cmp.Or(newest, e.Host) + ":" + path
	}
}

// addAction adds the versions that change, and the fingerprint of the snapshot's key.
func (u *upgradeResults) addAction(out engine.Output) {
	if list, ok := out["changes"].([]any); ok && len(u.changes) == 0 { // every host of a run_once task has its result
		for _, one := range list {
			m, _ := one.(map[string]any)
			u.add(fmt.Sprint(m["component"]), fmt.Sprint(m["from"]), fmt.Sprint(m["to"]), fmt.Sprint(m["host"]))
		}
		texts, _ := out["irreversible"].([]any)
		for _, text := range texts {
			u.irreversible = append(u.irreversible, fmt.Sprint(text))
		}
	}
	if key, ok := out["fingerprint"].(string); ok {
		u.fingerprint = key
	}
}

func (u *upgradeResults) add(component, from, to, host string) {
	i := slices.IndexFunc(u.changes, func(c versionChange) bool { return c.component == component && c.from == from && c.to == to })
	if i < 0 {
		i = len(u.changes)
		u.changes = append(u.changes, versionChange{component: component, from: from, to: to})
	}
	u.changes[i].hosts = append(u.changes[i].hosts, host)
}

// snapshotHost returns the host that has saved a snapshot; empty for none.
func (u *upgradeResults) snapshotHost() string {
	host, _, _ := strings.Cut(u.snapshot, ":")
	return host
}

// print prints the snapshot.
func (u *upgradeResults) print(w io.Writer) {
	if u.snapshot != "" {
		fmt.Fprintf(w, "snapshot of etcd: %s\n", u.snapshot)
		if u.fingerprint != "" {
			fmt.Fprintf(w, "authenticated by the key: %s (cluster.etcd.backup.fingerprint)\n", u.fingerprint)
		}
	}
}

// printChanges prints a line for each change, and the changes that a rollback does
// not take back.
func (u *upgradeResults) printChanges(w io.Writer) {
	if len(u.changes) == 0 {
		fmt.Fprintln(w, "versions: all hosts have those of the inventory")
		return
	}
	fmt.Fprintln(w, "versions, in this order:")
	for _, component := range upgradeComponents {
		for _, c := range u.changes {
			if c.component == component {
				fmt.Fprintf(w, "  %s %s to %s: %s\n", component, c.from, c.to, inventory.CompressText(c.hosts))
			}
		}
	}
	for _, text := range u.irreversible {
		fmt.Fprintf(w, "irreversible: %s\n", text)
	}
}
