package decide

import (
	"fmt"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// All applies every rule, and returns what the keeper has not just done. Actions that take minutes come last, and only
// the first of them: what was observed is old after it. One that was just done leaves its place to the next kind, so
// that a defragmentation which always fails keeps nothing else. A full etcd is freed before anything else, because the API refuses writes
// until then.
func All(s cluster.KeeperSpec, w world.World, h History) (d Decision) {
	etcd := EtcdCare(s.Etcd, w)
	full := w.Etcd.NoSpace && len(etcd.Actions) > 0
	long := false
	for _, part := range []Decision{Clear(s, w), Stuck(s.StuckContainers, w), ScaleOf(s.Scale, w), UnfenceOf(w), CertificateRequests(s.Certificates, w), etcd, FenceOf(s.Fence, w), PurgeOf(s, w), PostAddOf(s.PostAdd, w)} {
		d.Blocked = append(d.Blocked, part.Blocked...)
		for _, a := range part.Actions {
			if long || full && a.Kind != FreeSpace || !h.fresh(a, w.Now) {
				continue
			}
			d.do(a)
			long = a.long()
		}
	}
	return d
}

// Problems returns what a person should know of a cluster: nodes that are not Ready, members of etcd
// that do not serve, and what the keeper would do and does not.
func Problems(s cluster.KeeperSpec, w world.World, d Decision) []Problem {
	out := append(etcdProblems(w), backupProblems(s.Etcd, w)...)
	for _, n := range w.Nodes {
		switch {
		case n.Maintenance.Active(w.Now):
		case n.Ready == world.Unknown:
			out = append(out, Problem{NodeUnknown, fmt.Sprintf("node %s has not reported since %s", n.Name, n.Since.UTC().Format("2006-01-02 15:04:05 MST"))})
		case n.Ready == world.False:
			out = append(out, Problem{NodeNotReady, fmt.Sprintf("node %s is not Ready: kubectl describe node %s", n.Name, n.Name)})
		}
	}
	out = append(out, servedProblems(s.Certificates, w)...)
	out = append(out, postAddProblems(w)...)
	out = append(out, BlockedProblems(d)...)
	return append(out, requestProblems(s.Certificates, w)...)
}

// servedProblems returns the nodes whose certificates should have been renewed by now. Masters renew theirs.
func servedProblems(s cluster.KeeperCertificatesSpec, w world.World) (out []Problem) {
	soon := func(at time.Time) bool { return !at.IsZero() && at.Sub(w.Now) < w.RenewBefore/2 }
	for _, n := range w.Nodes {
		switch {
		case n.Master:
		case soon(n.Serves) && *s.Nodes:
			out = append(out, Problem{NodeCertificateExpiring, fmt.Sprintf("the kubelet of node %s serves a certificate until %s, which the node should have renewed: journalctl -u deployer-certificates there, or deployer certs renew", n.Name, n.Serves.UTC().Format(time.DateOnly))})
		case soon(n.Serves):
			out = append(out, Problem{NodeCertificateExpiring, fmt.Sprintf("the kubelet of node %s serves a certificate until %s, and others of this host are as old: deployer certs renew", n.Name, n.Serves.UTC().Format(time.DateOnly))})
		case n.Others != nil && soon(n.Others.Expires) && *s.Nodes:
			out = append(out, Problem{NodeCertificateExpiring, fmt.Sprintf("certificates of node %s that it cannot renew itself (%s) end from %s on: deployer certs renew", n.Name, strings.Join(n.Others.Names, ", "), n.Others.Expires.UTC().Format(time.DateOnly))})
		}
	}
	return out
}

// BlockedProblems returns what the keeper would do and does not.
func BlockedProblems(d Decision) (out []Problem) {
	for _, b := range d.Blocked {
		out = append(out, Problem{NotDone, "the keeper does not " + b.What + ": " + b.Why})
	}
	return out
}

// Condition is a condition of the keeper in the form of Kubernetes.
type Condition struct {
	Type    string          `json:"type"` // Available, Progressing or Degraded
	Status  world.Readiness `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message,omitempty"`
}

// Conditions returns the conditions of a pass. idle is the reason why the keeper does nothing, empty when it
// may act; standby is true when another keeper leads; doing are the actions of the pass.
func Conditions(idle string, standby bool, doing []Action, problems []Problem) []Condition {
	available := Condition{"Available", world.True, "Acting", ""}
	switch {
	case idle != "":
		available = Condition{"Available", world.False, "Idle", idle}
	case standby:
		available = Condition{"Available", world.True, "Standby", "another keeper leads"}
	}
	progressing := Condition{"Progressing", world.False, "NothingToDo", ""}
	if len(doing) > 0 {
		progressing = Condition{"Progressing", world.True, string(doing[0].Kind), doing[0].String()}
	}
	degraded := Condition{"Degraded", world.False, "AsExpected", ""}
	if len(problems) > 0 {
		degraded = Condition{"Degraded", world.True, problems[0].Reason, problems[0].Message}
		if n := len(problems) - 1; n > 0 {
			degraded.Message += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return []Condition{available, progressing, degraded}
}
