package effects

import (
	"slices"
	"strings"

	"deployer/shortlist"
	"deployer/tasks/checkresult"
)

// egress reports packets of pods that the host stops. An address that only some pods do not reach
// is no problem: a network policy may be the reason, but not in pods of kube-system.
func egress(found Observation) []checkresult.Row {
	e := found.Egress
	pods := strings.Join(e.Pods, ", ")
	fix, causes := "look at nft list ruleset and ip route on the host", ""
	for i, o := range e.Obstacles {
		if i == 0 {
			fix = o.Fix
		}
		causes += o.Detail + ": " // first: views cut long texts
	}
	switch {
	case len(e.Pods) == 0:
		return []checkresult.Row{checkresult.OK("no pod with a network of its own runs here")}
	case len(e.Unreached) > 0 && (len(e.Reached) == 0 || slices.ContainsFunc(e.Pods, isSystem)):
		return []checkresult.Row{checkresult.Problem(fix, "%spods of this host do not reach %s, which the host itself reaches (tried from %s)",
			causes, strings.Join(e.Unreached, ", "), pods)}
	case e.Unmasqueraded != "":
		return []checkresult.Row{checkresult.Problem("systemctl restart deployer-pods, or deployer install; when it does not help, look for a rule that accepts them first: nft list ruleset",
			"packets of pods leave with the address of the pod, and not of the node, for %s (from %s): only hosts with routes to pods can answer", e.Unmasqueraded, pods)}
	case len(e.Reached) == 0:
		return []checkresult.Row{checkresult.OK("not tried: no address outside answers this host")}
	}
	return []checkresult.Row{checkresult.OK("%s reached from %s", shortlist.Names(e.Reached, 3), pods)}
}

func isSystem(pod string) bool { return strings.HasPrefix(pod, "kube-system/") }
