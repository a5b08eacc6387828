package tasks

import (
	"context"

	"deployer/engine"
	"deployer/tasks/account"
	"deployer/tasks/identity"
	"deployer/tasks/image"
	"deployer/tasks/kernel"
	"deployer/tasks/mount"
	"deployer/tasks/packages"
	"deployer/tasks/unit"
)

// restorers restore resources other than files, by kind of module.
var restorers = map[string]*engine.Restorer{
	"group":         account.GroupRestorer,
	"hostname":      identity.Restorer,
	"image_import":  image.PinRestorer,
	"kernel_module": kernel.ModuleRestorer,
	mount.Kind:      mount.Restorer,
	"package":       packages.Restorer,
	"swap":          kernel.SwapRestorer,
	"sysctl":        kernel.SysctlRestorer,
	unit.Kind:       unit.Restorer,
	"user":          account.UserRestorer,
}

// postponed has the deferred work of steps, by kind of module; see engine.Deferrer.
var postponed = map[string]func(context.Context, engine.System) error{
	mount.Kind: mount.Reload,
	unit.Kind:  unit.Reload,
}

// restorable adds restorers and deferred work to kinds.
func restorable(kinds []engine.Kind) []engine.Kind {
	for i := range kinds {
		kinds[i].Restorer, kinds[i].Deferred = restorers[kinds[i].Name], postponed[kinds[i].Name]
	}
	return kinds
}
