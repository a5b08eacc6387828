package diagram

import (
	"strings"

	"deployer/engine/program"
)

// taskRemarks returns how hosts wait for each other at a task, beside labels and barriers.
func taskRemarks(t *program.Task) []string {
	var out []string
	if t.RunOnce {
		out = append(out, "run once")
	}
	if t.Throttle != nil {
		out = append(out, t.Throttle.Src+" at a time")
	}
	if t.Delegate != nil {
		out = append(out, "delegated")
	}
	return out
}

// blockRemarks returns how hosts take turns in a block.
func blockRemarks(b *program.Block) []string {
	var out []string
	if b.Throttle != nil {
		out = append(out, b.Throttle.Src+" at a time")
	}
	if r := b.Rollout; r != nil {
		out = append(out, "rollout")
		if groups := describeGroups(r.Canary); groups != "" {
			out = append(out, "canaries: "+groups)
		}
		if groups := describeGroups(r.OneAtATime); groups != "" {
			out = append(out, "one at a time: "+groups)
		}
		out = append(out, "at most "+describeLimit(r.MaxParallel)+" at a time")
	}
	return out
}

func describeGroups(g program.HostGroups) string {
	if g.Value != nil {
		return "computed"
	}
	return strings.Join(g.Names, ", ")
}

func describeLimit(l program.HostLimit) string {
	if l.Expr != nil {
		return l.Expr.Src
	}
	return l.Default.String()
}
