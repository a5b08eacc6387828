// Package compose combines several modules, which run in order, into one.
package compose

import (
	"context"
	"maps"

	"deployer/engine"
)

// Check joins the changes and needs of the parts. State that a part keeps for its own Apply
// is not passed on: see Apply.
func Check(ctx context.Context, sys engine.System, parts ...engine.Module) (engine.Change, error) {
	var all engine.Change
	for _, part := range parts {
		change, err := part.Check(ctx, sys)
		if err != nil {
			return engine.Change{}, err
		}
		all.Needed = all.Needed || change.Needed
		all.Effects = append(all.Effects, change.Effects...)
		all.Output = merged(all.Output, change.Output)
	}
	return all, nil
}

// Apply checks each part again, because an earlier part may have changed its result,
// and applies the part if a change is needed.
func Apply(ctx context.Context, sys engine.System, parts ...engine.Module) (engine.Output, error) {
	var all engine.Output
	for _, part := range parts {
		change, err := part.Check(ctx, sys)
		if err != nil {
			return all, err
		}
		if !change.Needed {
			continue
		}
		out, err := part.Apply(ctx, sys, change)
		all = merged(all, out)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func merged(a, b engine.Output) engine.Output {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
