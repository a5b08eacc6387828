package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Action is the action of a reconciliation.
type Action string

// The actions.
const (
	ActionInstall Action = "install" // install a new cluster
	ActionStart   Action = "start"   // start stopped components, then compare again
	ActionRepair  Action = "repair"  // join hosts and restore differences, with the versions that run
	ActionUpgrade Action = "upgrade" // upgrade components with older versions
	ActionNothing Action = "nothing" // change nothing: the difference needs another verb
	ActionRestore Action = "restore" // change nothing: only a backup helps
	ActionRefuse  Action = "refuse"  // change nothing: the reason says why
)

// Decision is an action with its reason.
type Decision struct {
	Action Action `json:"action"`
	Reason string `json:"reason,omitempty"` // reason of every action but repair; empty for repair
}

// Rules are the permissions of a reconciliation.
type Rules struct {
	Upgrade bool // versions may change
	// Protected are the hosts without which no run changes the cluster: masters and etcd
	// hosts, unless the failure budget of the inventory allows to lose some.
	Protected []string
}

// Decide returns what a reconciliation does with a cluster. Decide never repairs and upgrades
// in the same run, and never lowers a version.
func Decide(r Result, rules Rules) Decision {
	switch r.State {
	case New:
		return Decision{ActionInstall, r.Reason}
	case Unknown, Restoring:
		return Decision{ActionRefuse, r.Reason}
	case QuorumLost:
		return Decision{ActionRestore, r.Reason}
	case Down:
		return Decision{ActionStart, r.Reason}
	case Running:
	}
	lost := r.lost(rules.Protected)
	switch {
	case len(lost) > 0:
		return Decision{ActionRefuse, fmt.Sprintf("%s cannot be reached: bring the machine back, or replace it by one with the same name and address, or take it out of the cluster with deployer scale-down --dead %s",
			strings.Join(lost, ", "), strings.Join(lost, " "))}
	case len(r.ExtraNodes) > 0:
		return Decision{ActionRefuse, extraNodes + strings.Join(r.ExtraNodes, ", ") + ": " + waysOut(r.ExtraNodes) + unmanagedAdvice}
	case len(r.ExtraMembers) > 0:
		return Decision{ActionRefuse, extraMembers + strings.Join(r.ExtraMembers, ", ") + ": " + waysOut(r.ExtraMembers)}
	case len(r.Newer) > 0:
		return Decision{ActionRefuse, fmt.Sprintf("%s: a version is lowered by deployer rollback only; write the version that runs into the inventory", describe(r.Newer))}
	case len(r.Older) > 0 && rules.Upgrade && len(r.Broken) > 0:
		return Decision{ActionRefuse, "a repair and an upgrade are never part of the same run: repair first, without --upgrade"}
	case len(r.Older) > 0 && rules.Upgrade && len(r.Joining) == 0:
		return Decision{ActionUpgrade, describe(r.Older)}
	case len(r.Older) > 0 && len(r.Broken) == 0 && len(r.Joining) == 0:
		return Decision{ActionNothing, describe(r.Older)}
	case len(r.Older) > 0:
		return Decision{ActionRefuse, describe(r.Older) + ": hosts join and are repaired with the versions that run; write those into the inventory, and upgrade after the repair"}
	}
	return Decision{Action: ActionRepair}
}

// lost returns the hosts that could not be examined, of the given ones.
func (r Result) lost(hosts []string) []string {
	var out []string
	for _, b := range r.Broken {
		if b.Component == componentHost && slices.Contains(hosts, b.Host) {
			out = append(out, b.Host)
		}
	}
	return out
}

// describe returns one text for components of many hosts, such as "kubelet v1.35.4 on 2
// hosts, wanted v1.36.3".
func describe(list []Versioned) string {
	var order []string
	hosts := map[string][]string{}
	for _, v := range list {
		text := fmt.Sprintf("%s %s %%s, wanted %s", v.Component, v.Found, v.Wanted)
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], v.Host)
	}
	slices.Sort(order)
	for i, text := range order {
		on := "on " + hosts[text][0]
		if n := len(hosts[text]); n > 1 {
			on = fmt.Sprintf("on %d hosts (%s, ...)", n, hosts[text][0])
		}
		order[i] = fmt.Sprintf(text, on)
	}
	return strings.Join(order, "; ")
}
