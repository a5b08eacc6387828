package kernel

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestRestorer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sys := tasktest.New(t)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{
		"swapoff --all": {Do: func(engine.Command) { sys.Write(t, "/proc/swaps", "Filename\n", 0o644) }},
		"swapon":        {Do: func(engine.Command) { sys.Write(t, "/proc/swaps", "Filename\n/dev/sda2 partition\n", 0o644) }},
	})
	sys.Write(t, "/proc/sys/net/a", "1\t2\n", 0o644)
	sys.Write(t, "/proc/swaps", "Filename\n/dev/sda2 partition\n", 0o644)
	for _, dir := range []string{"/etc/sysctl.d", "/etc/modules-load.d"} {
		sys.Mkdir(t, dir)
	}
	for _, m := range []engine.Module{&Sysctl{Settings: map[string]string{"net.a": "3"}}, &Swap{State: "off"}} {
		if _, _, err := tasktest.Run(t, sys, m); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"sysctl net.a: value=1 2", "swap /dev/sda2: present=yes"}, sys.States()); diff != "" {
		t.Error(diff)
	}
	for _, r := range []struct {
		*engine.Restorer
		name string
		was  engine.State
	}{{SysctlRestorer, "net.a", engine.State{"value": "1 2"}}, {SwapRestorer, "/dev/sda2", engine.State{"present": "yes"}}} {
		now, err := r.Read(ctx, sys, r.name)
		if err == nil {
			err = r.Restore(ctx, sys, r.name, now, r.was)
		}
		if err != nil {
			t.Fatal(err)
		}
		if now, err = r.Read(ctx, sys, r.name); err != nil || cmp.Diff(r.was, now) != "" {
			t.Errorf("%s is %v, %v", r.name, now, err)
		}
	}
}

func TestModuleInUseStaysLoaded(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{"modprobe --remove -- busy": {Exit: 1, Stderr: "Module busy is in use."}, "modprobe --remove -- idle": {}})
	ctx := context.Background()
	err := ModuleRestorer.Restore(ctx, sys, "busy", engine.State{"present": "yes"}, nil)
	if _, ok := errors.AsType[*engine.IrreversibleError](err); !ok {
		t.Errorf("got %v", err)
	}
	if err := ModuleRestorer.Restore(ctx, sys, "idle", engine.State{"present": "yes"}, nil); err != nil {
		t.Error(err)
	}
}
