package identity

import (
	"context"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Restorer puts back the running host's name; /etc/hostname is put back as a
// file.
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
