package host

import (
	"context"

	"deployer/engine"
)

// Converge makes the host as a module wants it, and reports each change before it.
func Converge(ctx context.Context, sys engine.System, module engine.Module) error {
	change, err := module.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	for _, e := range change.Effects {
		text := e.Action + " " + e.Target
		if e.Reason != "" {
			text += ": " + e.Reason
		}
		sys.Progress(text)
	}
	_, err = module.Apply(ctx, sys, change)
	return err
}
