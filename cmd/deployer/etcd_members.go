package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/report"
)

// etcdMembers keeps the outputs of the action etcd_members, by the name of the etcd cluster.
type etcdMembers struct {
	mu    sync.Mutex
	found map[string]etcdMemberList
}

// etcdMemberList has the members of one etcd cluster.
type etcdMemberList struct {
	Members []cluster.EtcdMemberState `json:"members"` // one for each etcd host
	Others  []cluster.EtcdMemberState `json:"others"`  // those of no host
}

// Emit implements engine.Sink.
func (m *etcdMembers) Emit(e engine.Event) {
	out := e.ActionOutput()
	if out["snapshot_host"] == nil {
		return
	}
	var found struct {
		etcdMemberList
		Cluster string `json:"cluster"`
	}
	if out.Decode(&found) != nil {
		return // the output of another task
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		m.found = map[string]etcdMemberList{}
	}
	m.found[found.Cluster] = found.etcdMemberList
}

// document returns the members for --output json. Those of events and of Calico are in sections of their
// own.
func (m *etcdMembers) document(problems []report.Row) map[string]any {
	own := m.found[cluster.EtcdOwn]
	out := map[string]any{"members": own.Members, "others": own.Others, "problems": problems}
	if events, has := m.found[cluster.EtcdEvents]; has {
		out["events"] = events
	}
	if calico, has := m.found[cluster.EtcdCalico]; has {
		out["calico"] = calico
	}
	return out
}

// print writes a table for each etcd cluster, the own one first, and the problems. Where there are
// several, each has its name above it.
func (m *etcdMembers) print(w io.Writer, problems []report.Row) error {
	names := slices.Sorted(maps.Keys(m.found)) // etcd, etcd-calico, etcd-events
	if len(names) == 0 {
		names = []string{cluster.EtcdOwn} // a table without rows
	}
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if len(m.found) > 1 {
			fmt.Fprintln(w, name)
		}
		list := m.found[name]
		if err := printEtcdMembers(w, slices.Concat(list.Members, list.Others)); err != nil {
			return err
		}
	}
	for _, p := range problems {
		fmt.Fprintf(w, "%s %s: %s\n", p.Check, p.Host, p.Detail)
		if p.Fix != "" {
			fmt.Fprintf(w, "  %s\n", p.Fix)
		}
	}
	return nil
}

func printEtcdMembers(w io.Writer, members []cluster.EtcdMemberState) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tMEMBER\tSTATE\tVERSION\tREVISION\tDATABASE\tIN USE\tUNUSED")
	for i := range members {
		sanitize.Fields(&members[i])
	}
	listed := slices.ContainsFunc(members, func(m cluster.EtcdMemberState) bool { return m.Listed })
	for _, m := range members {
		host, id := cmp.Or(m.Host, "("+cmp.Or(m.Member, strings.Join(m.PeerURLs, ","))+")"), cmp.Or(m.ID, "-")
		if !m.Answers {
			fmt.Fprintf(table, "%s\t%s\t%s\t-\t-\t-\t-\t-\n", host, id, etcdState(m, listed))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%.0f %%\n", host, id, etcdState(m, listed), m.Version, m.Revision,
			etcd.Mebibytes(m.DBSize), etcd.Mebibytes(m.DBInUse), 100*m.Fragmentation())
	}
	return table.Flush()
}
