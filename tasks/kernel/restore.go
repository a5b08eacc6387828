package kernel

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// The restorers of the running kernel: settings, modules and swap. Their files for the
// next boot are restored as files.
var (
	SysctlRestorer = &engine.Restorer{Effect: engine.EffectKernel, Restore: restoreSetting,
		Read: func(_ context.Context, sys engine.System, key string) (engine.State, error) {
			return lookSetting(sys, key)
		}}
	ModuleRestorer = &engine.Restorer{Effect: engine.EffectKernel, Restore: restoreModule,
		Read: func(_ context.Context, sys engine.System, name string) (engine.State, error) {
			return present(Active(sys, name)), nil
		}}
	SwapRestorer = &engine.Restorer{Effect: engine.EffectKernel, Restore: restoreSwap,
		Read: func(_ context.Context, sys engine.System, area string) (engine.State, error) {
			return present(slices.Contains(Swaps(sys), area)), nil
		}}
)

// present is the state of a resource that either exists or does not.
func present(there bool) engine.State {
	if !there {
		return nil
	}
	return engine.State{"present": "yes"}
}

const keyValue = "value"

func lookSetting(sys engine.System, key string) (engine.State, error) {
	raw, err := os.ReadFile(sys.Path(ProcPath(key)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return engine.State{keyValue: Normal(string(raw))}, err
}

func restoreSetting(_ context.Context, sys engine.System, key string, _, to engine.State) error {
	if len(to) == 0 {
		return &engine.IrreversibleError{Reason: "the kernel has this setting only since then"}
	}
	return setLive(sys, key, to[keyValue])
}

func restoreModule(ctx context.Context, sys engine.System, name string, _, to engine.State) error {
	if len(to) > 0 {
		_, err := hostcmd.Run(ctx, sys, "modprobe", "--", name)
		return err
	}
	if _, err := hostcmd.Run(ctx, sys, "modprobe", "--remove", "--", name); err != nil {
		return &engine.IrreversibleError{Reason: "the kernel does not let go of the module before the next boot: " + err.Error()}
	}
	return nil
}

func restoreSwap(ctx context.Context, sys engine.System, area string, _, to engine.State) error {
	verb := "swapon"
	if len(to) == 0 {
		verb = "swapoff"
	}
	_, err := hostcmd.Run(ctx, sys, verb, area)
	return err
}
