package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/shortlist"
)

// missing returns the hosts of a revert that did not answer its query, each with the text
// for the report of the revert.
func (r *Revert) missing(preview *RevertPreview) map[string]string {
	out := map[string]string{}
	for _, h := range preview.Report.Hosts {
		if h.Unreachable && h.Failure != nil {
			out[h.Host] = fmt.Sprintf("it did not answer before the revert and is not restored: %s; %s", h.Failure.Message, r.whenBack())
		}
	}
	return out
}

// whenBack returns what to do about a host that was not restored.
func (r *Revert) whenBack() string {
	verb := journal.VerbRevert
	if r.Invocation.Verb == journal.VerbUpgrade {
		verb = "rollback"
	}
	return fmt.Sprintf("when it answers again: deployer %s %s", verb, r.ID)
}

// mayHaveChanged reports whether the run may have changed a host, as far as its log shows:
// that of a killed run lacks the ends of its last steps.
func (r *Revert) mayHaveChanged(host string) bool {
	return len(r.log.changed[host]) > 0 || len(r.log.hosts) == 0 || r.Entry == nil || r.Entry.Report == nil
}

// runHosts returns the hosts of the run that reverts: those with something to restore, or
// all when the program needs them, but without missing hosts that have nothing to restore.
// Missing hosts that an upgrade may have changed are part of the run, so that its outcome
// says that they are left.
func (r *Revert) runHosts(preview *RevertPreview, missing map[string]string) []string {
	all := r.query.Hosts
	if preview.inverse.Everyone {
		all = r.query.Project.Hosts
	}
	return slices.DeleteFunc(slices.Clone(all), func(host string) bool {
		switch _, down := missing[host]; {
		case down:
			return r.Invocation.Verb != journal.VerbUpgrade || !r.mayHaveChanged(host)
		case preview.inverse.Everyone:
			return false
		}
		return len(preview.History[host].Items) == 0 && !preview.inverse.Due[host]
	})
}

// etcdFiles are the resources whose restore restarts etcd; see role etcd-member.
var etcdFiles = []string{"/usr/local/bin/etcd", "/etc/systemd/system/etcd.service", "/etc/kubernetes/pki/etcd/ca.crt", "etcd.service",
	"/etc/systemd/system/etcd-events.service", "etcd-events.service",
	"/etc/systemd/system/etcd-calico.service", "/etc/kubernetes/pki/etcd-calico/ca.crt", "etcd-calico.service"}

// refuseWithout returns a *RefusedError when the revert of a cluster's run must not be made
// while the hosts that did not answer are down.
func (r *Revert) refuseWithout(preview *RevertPreview) error {
	c := r.query.Project.Cluster
	if c == nil || r.Invocation.Verb != journal.VerbUpgrade && r.Invocation.Verb != journal.VerbInstall {
		return nil
	}
	missing := r.missing(preview)
	var restarts []string
	for _, host := range c.Order {
		past := preview.History[host]
		if c.Nodes[host].IsEtcd && slices.ContainsFunc(past.Items, func(i engine.ChangeRecord) bool {
			return slices.Contains(etcdFiles, i.Name) && (i.State == engine.RevertRestore || past.Unfinished != "")
		}) {
			restarts = append(restarts, host)
		}
	}
	if text := withoutHosts(c, missing, restarts); text != "" {
		return &RefusedError{fmt.Errorf("nothing was changed: %s", text)}
	}
	return nil
}

// withoutHosts returns why hosts that are down keep a cluster from a revert that restarts
// etcd on some hosts, one at a time; empty when they do not. withoutHosts does not need etcd's
// member list, which nobody can read when the quorum is lost.
func withoutHosts(c *cluster.Cluster, down map[string]string, restarts []string) string {
	var members, lost, masters []string
	for _, host := range c.Order {
		_, gone := down[host]
		if n := c.Nodes[host]; n.IsEtcd {
			members = append(members, host)
			if gone {
				lost = append(lost, host)
			}
		}
		if gone && c.Nodes[host].IsMaster {
			masters = append(masters, host)
		}
	}
	majority, names := len(members)/2+1, shortlist.Names(lost, 5)
	switch serving := len(members) - len(lost); {
	case len(lost) == 0 && len(masters) < len(c.Masters), len(members) == 0:
		return ""
	case serving < majority:
		return fmt.Sprintf("etcd has no quorum: %s of its %d members do not answer; bring them back, or restore a backup with deployer etcd restore", names, len(members))
	case len(masters) == len(c.Masters):
		return fmt.Sprintf("no master answers (%s): bring one back first", strings.Join(masters, ", "))
	case len(lost) > 0 && len(restarts) > 0 && serving-1 < majority:
		return fmt.Sprintf("etcd of %s would be restarted, and while %s does not answer, %d of %d members would serve meanwhile, which is no majority; bring it back, or replace it (deployer etcd replace), and roll back then",
			strings.Join(restarts, ", "), names, serving-1, len(members))
	}
	return ""
}
