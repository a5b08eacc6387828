package tasks

import (
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
	"mount":         mount.Restorer,
	"package":       packages.Restorer,
	"swap":          kernel.SwapRestorer,
	"sysctl":        kernel.SysctlRestorer,
	"unit":          unit.Restorer,
	"user":          account.UserRestorer,
}

// restorable gives kinds their restorers.
func restorable(kinds []engine.Kind) []engine.Kind {
	for i := range kinds {
		kinds[i].Restorer = restorers[kinds[i].Name]
		if kinds[i].Name == unit.Kind {
			kinds[i].Postponed = unit.Reload
		}
	}
	return kinds
}
