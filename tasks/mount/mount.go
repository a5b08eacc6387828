// Package mount has the module for mounted file systems: their line in
// /etc/fstab and what is mounted now.
package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Mount makes sure of a file system at a path, now and after a reboot.
type Mount struct {
	Path   string `yaml:"path" required:"true" doc:"absolute path of the mount point; it is made when it is not there"`
	Src    string `yaml:"src" doc:"what is mounted: a device, UUID=..., LABEL=..., HOST:/path, tmpfs; required for present and mounted"`
	Fstype string `yaml:"fstype" doc:"kind of the file system: ext4, xfs, nfs, tmpfs, or none for a bind mount; required for present and mounted"`
	Opts   string `yaml:"opts" doc:"options as in /etc/fstab, separated by commas; default defaults"`
	Dump   int    `yaml:"dump" doc:"fifth field of /etc/fstab; default 0"`
	Passno int    `yaml:"passno" doc:"sixth field of /etc/fstab: order of checks at boot; default 0, no check"`
	State  string `yaml:"state" enum:"mounted,present,unmounted,absent" doc:"mounted: in /etc/fstab and mounted; present: only in /etc/fstab; unmounted: not mounted, and /etc/fstab is left alone; absent: neither. Default mounted"`
}

var _ engine.Module = (*Mount)(nil)

const fstab = "/etc/fstab"

func (m *Mount) valid() error {
	switch {
	case !filepath.IsAbs(m.Path) || filepath.Clean(m.Path) != m.Path:
		return fmt.Errorf("path %q is not absolute and clean", m.Path)
	case m.Path == "/" && (m.State == "absent" || m.State == "unmounted"):
		return errors.New("refusing to unmount /")
	case m.writes() && (m.Src == "" || m.Fstype == ""):
		return errors.New("src and fstype are needed")
	case strings.ContainsAny(m.Src+m.Fstype+m.Opts+m.Path, "\n#"):
		return errors.New("a field of /etc/fstab has neither line ends nor #")
	}
	return nil
}

// writes is true when the path shall have a line in /etc/fstab.
func (m *Mount) writes() bool { return m.State == "" || m.State == "mounted" || m.State == "present" }

// mounts is true when the file system shall be mounted.
func (m *Mount) mounts() bool { return m.State == "" || m.State == "mounted" }

// table is /etc/fstab as it shall be; false when it is so already.
func (m *Mount) table(sys engine.System) (*file.File, bool, error) {
	data, err := os.ReadFile(sys.Path(fstab))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	want := string(data)
	switch {
	case m.writes():
		want = withLine(want, m.line())
	case m.State == "absent":
		want = withoutLine(want, m.Path)
	}
	return &file.File{Path: fstab, Content: want, Empty: want == "", Follow: true}, want != string(data), nil
}

// todo is what the running host needs: mount, remount, move (another file system
// is in its place), unmount, or nothing.
func (m *Mount) todo(sys engine.System, tableDiffers bool) (string, error) {
	now, err := mounted(sys, m.Path)
	if err != nil {
		return "", err
	}
	switch {
	case m.State == "present", !m.mounts() && now == nil:
		return "", nil
	case !m.mounts():
		return "unmount", nil
	case now == nil:
		return "mount", nil
	case !m.line().mountedAs(sys, *now):
		return "move", nil
	case tableDiffers || !now.honours(m.line().opts):
		return "remount", nil
	}
	return "", nil
}

// words are the effects' phrases.
var words = map[string]string{"mount": "mount", "remount": "mount again with other options", "move": "unmount what is there, and mount", "unmount": "unmount"}

// Check compares /etc/fstab and what is mounted.
func (m *Mount) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := m.valid(); err != nil {
		return engine.Change{}, err
	}
	table, differs, err := m.table(sys)
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	if m.mounts() {
		if change, err = m.point().Check(ctx, sys); err != nil {
			return engine.Change{}, err
		}
	}
	if differs {
		one, err := table.Check(ctx, sys)
		if err != nil {
			return engine.Change{}, err
		}
		change.Effects = append(change.Effects, one.Effects...)
	}
	verb, err := m.todo(sys, differs)
	if err != nil {
		return engine.Change{}, err
	}
	if verb != "" {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectKernel, Target: m.Path, Action: words[verb]})
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

// point is the directory to mount on. A link there would be followed by mount,
// to a path that no line of /etc/fstab names.
func (m *Mount) point() *file.Directory { return &file.Directory{Path: m.Path} }

// Apply writes /etc/fstab first and mounts by it: what cannot be mounted so now
// would not be at the next boot, and would keep the host from booting. Then the
// file is put back.
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
		if err := lay(ctx, sys, m.point()); err != nil {
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
		back := &file.File{Path: fstab, Content: string(old), Empty: len(old) == 0, Follow: true}
		if undone := write(ctx, sys, back); undone != nil {
			err = fmt.Errorf("%w; and the line stays in /etc/fstab: %w", err, undone)
		}
		return nil, err
	}
	return nil, nil
}

// lay makes the directory.
func lay(ctx context.Context, sys engine.System, point *file.Directory) error {
	change, err := point.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	_, err = point.Apply(ctx, sys, change)
	return err
}

// write puts the table in place and tells systemd, which makes units of it.
func write(ctx context.Context, sys engine.System, table *file.File) error {
	change, err := table.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	if _, err := table.Apply(ctx, sys, change); err != nil {
		return err
	}
	return reload(ctx, sys)
}

func reload(ctx context.Context, sys engine.System) error {
	if _, err := os.Stat(sys.Path("/run/systemd/system")); err != nil {
		return nil //nolint:nilerr // another init reads the file when it needs it
	}
	_, err := hostcmd.Run(ctx, sys, "systemctl", "daemon-reload")
	return err
}

// remount is what mount(8) is told. Without "bind" it would change the whole file
// system that a bind mount shows a part of: read-only for everybody.
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
		err = sys.KeepState("mount", m.Path, before)
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
		return errors.Join(err, fmt.Errorf("the commands succeeded, but %s still needs to %s: a unit may undo it; look at systemctl list-units --type=mount",
			m.Path, words[left]))
	}
	return nil
}
