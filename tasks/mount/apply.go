package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Apply writes /etc/fstab first and mounts by it: a line that cannot be mounted now
// would keep the host from booting. On a failure it restores the file.
func (m *Mount) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	table, differs, err := m.table(sys)
	if err != nil {
		return nil, err
	}
	verb, err := m.todo(sys, differs)
	if err != nil {
		return nil, err
	}
	if m.mounts() {
		if err := makePoint(ctx, sys, m.point()); err != nil {
			return nil, err
		}
	}
	if !differs {
		return nil, m.act(ctx, sys, verb)
	}
	old, err := os.ReadFile(sys.Path(fstab))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := write(ctx, sys, table); err != nil {
		return nil, err
	}
	if err := m.act(ctx, sys, verb); err != nil {
		back := &file.File{Path: fstab, Content: new(string(old)), Empty: len(old) == 0, Follow: true}
		if undone := write(ctx, sys, back); undone != nil {
			err = fmt.Errorf("%w; and the line remains in /etc/fstab: %w", err, undone)
		}
		return nil, err
	}
	return nil, nil
}

// makePoint creates the mount point.
func makePoint(ctx context.Context, sys engine.System, point *file.Directory) error {
	change, err := point.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	_, err = point.Apply(ctx, sys, change)
	return err
}

// write replaces the table and reloads systemd, which generates units from it.
func write(ctx context.Context, sys engine.System, table *file.File) error {
	change, err := table.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	if _, err := table.Apply(ctx, sys, change); err != nil {
		return err
	}
	return Reload(ctx, sys)
}

// Reload makes systemd generate its units from /etc/fstab again.
func Reload(ctx context.Context, sys engine.System) error {
	if _, err := os.Stat(sys.Path("/run/systemd/system")); err != nil {
		return nil //nolint:nilerr // other init systems have no units to reload
	}
	_, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
	return err
}

// remount returns the options for mount(8). Without "bind", mount would change the whole
// file system that a bind mount shows a part of: read-only for all users of it.
func (m *Mount) remount() string {
	if !m.line().bind() {
		return "remount"
	}
	flags := slices.DeleteFunc(strings.Split(m.Opts, ","), func(o string) bool { return o == "bind" || o == "rbind" })
	return strings.Join(append([]string{"remount", "bind"}, flags...), ",")
}

func (m *Mount) act(ctx context.Context, sys engine.System, verb string) error {
	if verb == "" {
		return nil
	}
	before, err := look(ctx, sys, m.Path)
	if err == nil {
		err = sys.BackupState("mount", m.Path, before)
	}
	if err == nil && (verb == "unmount" || verb == "move") {
		_, err = hostcmd.Run(ctx, sys, "umount", m.Path)
	}
	if err == nil && verb == "remount" {
		_, err = hostcmd.Run(ctx, sys, "mount", "-o", m.remount(), m.Path)
	}
	if err == nil && (verb == "mount" || verb == "move") {
		_, err = hostcmd.Run(ctx, sys, "mount", m.Path)
	}
	if err != nil {
		return err
	}
	if left, err := m.todo(sys, false); err != nil || left != "" {
		return errors.Join(err, fmt.Errorf("the commands succeeded, but %s still needs to %s: a unit may revert it; see systemctl list-units --type=mount",
			m.Path, words[left]))
	}
	return nil
}
