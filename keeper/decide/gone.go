package decide

import (
	"time"

	"deployer/keeper/world"
)

// lost reports whether a node has not reported for a time.
func lost(n world.Node, now time.Time, wait time.Duration) bool {
	return n.Ready == world.Unknown && now.Sub(n.Since) >= wait
}

// gone reports whether a node has not reported for a time, and why it must not be treated as gone
// nevertheless. A member of etcd that answers is a witness as good as a connection to the kubelet.
func gone(n world.Node, w world.World, wait time.Duration) (isLost bool, but string) {
	if !lost(n, w.Now, wait) {
		return false, ""
	}
	at := memberOf(n.Name, w.Etcd)
	switch {
	case n.Maintenance.Active(w.Now):
		return true, "it is in maintenance until " + n.Maintenance.Until.UTC().Format(time.RFC3339) + " (" + n.Maintenance.By + ")"
	case n.Reach == world.Answers:
		return true, "its host answers, so its pods may run: look at the kubelet there"
	case at >= 0 && w.Etcd.Members[at].Answers:
		return true, "its member of etcd answers, so its host lives: look at the kubelet there"
	case n.Reach == world.NotTried:
		return true, "it is not known whether its host answers"
	}
	return true, ""
}

// Split returns the reason why this keeper may be the one that is cut off: it reaches no majority of
// the nodes. It is empty when it reaches one.
func Split(nodes []world.Node) string {
	reached := 0
	for _, n := range nodes {
		if n.Reach == world.Answers {
			reached++
		}
	}
	if 2*reached > len(nodes) {
		return ""
	}
	return "this host reaches " + count(reached, len(nodes)) + ", which is no majority, so it may be the one that is cut off"
}
