package tasks

import (
	"context"

	"deployer/engine"
	"deployer/tasks/account"
	"deployer/tasks/identity"
	"deployer/tasks/kernel"
	"deployer/tasks/mount"
	"deployer/tasks/packages"
	"deployer/tasks/unit"
)

// restorers put back, by kind, what modules keep that is no file.
var restorers = map[string]*engine.Restorer{
	"group":         account.GroupRestorer,
	"hostname":      identity.Restorer,
	"kernel_module": kernel.ModuleRestorer,
	mount.Kind:      mount.Restorer,
	"package":       packages.Restorer,
	"swap":          kernel.SwapRestorer,
	"sysctl":        kernel.SysctlRestorer,
	unit.Kind:       unit.Restorer,
	"user":          account.UserRestorer,
}

// postponed does, by kind, what steps have left to the end of their segment.
var postponed = map[string]func(context.Context, engine.System) error{
	mount.Kind: mount.Reload,
	unit.Kind:  unit.Reload,
}

// restorable gives kinds their restorers, and what they postpone.
func restorable(kinds []engine.Kind) []engine.Kind {
	for i := range kinds {
		kinds[i].Restorer, kinds[i].Postponed = restorers[kinds[i].Name], postponed[kinds[i].Name]
	}
	return kinds
}
