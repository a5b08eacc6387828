package mount

import (
	"context"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Kind is the name of the module.
const Kind = "mount"

// Restorer restores mounts. /etc/fstab is restored as a file.
var Restorer = &engine.Restorer{Effect: engine.EffectKernel, Read: look, Restore: restore, ReloadsOn: func(path string) bool { return path == fstab }}

func look(_ context.Context, sys engine.System, path string) (engine.State, error) {
	now, err := mounted(sys, path)
	if err != nil || now == nil {
		return nil, err
	}
	return engine.State{"source": now.source, "root": now.root, "fstype": now.fstype, "options": now.options, "super": now.super}, nil
}

func restore(ctx context.Context, sys engine.System, path string, now, to engine.State) error {
	if now != nil && to != nil && now["source"] == to["source"] && now["root"] == to["root"] {
		return restoreOptions(ctx, sys, path, now, to)
	}
	if now != nil {
		if _, err := hostcmd.Run(ctx, sys, "umount", path); err != nil {
			return err
		}
	}
	switch {
	case to == nil:
		return nil
	case to["root"] != "/":
		return &engine.IrreversibleError{Reason: "it was a part of another file system, " + to["source"] + to["root"] + ": mount it by hand"}
	}
	_, err := hostcmd.Run(ctx, sys, "mount", "-t", to["fstype"], "-o", to["options"]+","+to["super"], to["source"], path)
	return err
}

// restoreOptions separates the options of the mount from those of the file system: a
// bind mount must not change the file system for its other mounts.
func restoreOptions(ctx context.Context, sys engine.System, path string, now, to engine.State) error {
	if now["super"] != to["super"] {
		if _, err := hostcmd.Run(ctx, sys, "mount", "-o", "remount,"+to["super"], path); err != nil {
			return err
		}
	}
	if now["options"] == to["options"] {
		return nil
	}
	_, err := hostcmd.Run(ctx, sys, "mount", "-o", "remount,bind,"+to["options"], path)
	return err
}
