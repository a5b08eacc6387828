package identity

import (
	"context"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Restorer restores the name of the running host; /etc/hostname is restored as a file.
var Restorer = &engine.Restorer{
	Effect: engine.EffectKernel,
	Read: func(_ context.Context, sys engine.System, _ string) (engine.State, error) {
		live, err := (&Hostname{}).live(sys)
		return engine.State{"name": live}, err
	},
	Restore: func(ctx context.Context, sys engine.System, _ string, _, to engine.State) error {
		_, err := hostcmd.Run(ctx, sys, "hostname", "--", to["name"])
		return err
	},
}
