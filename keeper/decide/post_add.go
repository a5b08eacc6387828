package decide

import (
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/world"
)

// maxPostAdd is the number of nodes whose hooks run in one pass, after all other actions: those of the next pass wait
// for them, for minutes when hooks are slow.
const maxPostAdd = 3

// maxRetry is the longest time between two attempts of hooks that fail.
const maxRetry = time.Hour

// PostAddOf returns the nodes that have joined, whose hooks run now: the oldest first, each when it is Ready. Nodes
// that there were before the hooks were set have none.
func PostAddOf(hooks []cluster.KeeperHookSpec, w world.World) (d Decision) {
	if len(hooks) == 0 || w.PostAddSince.IsZero() {
		return d
	}
	nodes := slices.Clone(w.Nodes)
	slices.SortStableFunc(nodes, func(a, b world.Node) int { return a.Created.Compare(b.Created) })
	for _, n := range nodes {
		switch {
		case n.PostAdded || n.Created.Before(w.PostAddSince):
		case n.Ready != world.True || w.Now.Before(nextAttempt(n.PostAdd)):
		case len(d.Actions) < maxPostAdd:
			d.do(Action{Kind: PostAdd, Object: nodeObject(n), Node: n, Why: "the node joined at " + n.Created.UTC().Format(time.RFC3339)})
		}
	}
	return d
}

// nextAttempt returns the time of the next attempt. The wait doubles with each failure.
func nextAttempt(a world.Attempts) time.Time {
	if a.Failures == 0 {
		return time.Time{}
	}
	wait := again
	for range a.Failures - 1 {
		if wait *= 2; wait >= maxRetry {
			return a.Last.Add(maxRetry)
		}
	}
	return a.Last.Add(wait)
}

// postAddProblems returns the nodes that have joined and whose hooks fail.
func postAddProblems(w world.World) (out []Problem) {
	for _, n := range w.Nodes {
		if a := n.PostAdd; a.Failures > 0 && !n.PostAdded {
			out = append(out, Problem{PostAddFailed, fmt.Sprintf("the hooks of cluster.keeper.post_add have failed for node %s (%d times, again at %s): %s",
				n.Name, a.Failures, nextAttempt(a).UTC().Format("15:04:05 MST"), a.Error)})
		}
	}
	return out
}
