// Package mount has the module for mounted file systems: their lines in /etc/fstab and
// their current mounts.
package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
)

// Mount manages a mounted file system and its line in /etc/fstab.
type Mount struct {
	Path   string `yaml:"path" rule:"path" required:"true" doc:"absolute path of the mount point; created if missing"`
	Src    string `yaml:"src" rule:"line" doc:"source of the mount: a device, UUID=..., LABEL=..., HOST:/path, tmpfs; required for present and mounted"`
	Fstype string `yaml:"fstype" rule:"word" doc:"type of the file system: ext4, xfs, nfs, tmpfs, or none for a bind mount; required for present and mounted"`
	Opts   string `yaml:"opts" rule:"word" doc:"options as in /etc/fstab, separated by commas; default defaults"`
	Dump   int    `yaml:"dump" range:"0.." doc:"fifth field of /etc/fstab; default 0"`
	Passno int    `yaml:"passno" range:"0.." doc:"sixth field of /etc/fstab: order of checks at boot; default 0, no check"`
	State  string `yaml:"state" enum:"mounted,present,unmounted,absent" doc:"mounted: in /etc/fstab and mounted; present: only in /etc/fstab; unmounted: not mounted, and /etc/fstab is left alone; absent: neither. Default mounted"`
}

var _ engine.Module = (*Mount)(nil)

const fstab = "/etc/fstab"

// Valid implements engine.Validator.
func (m *Mount) Valid() error {
	switch {
	case !filepath.IsAbs(m.Path) || filepath.Clean(m.Path) != m.Path:
		return fmt.Errorf("path %q is not absolute and clean", m.Path)
	case m.Path == "/" && (m.State == "absent" || m.State == "unmounted"):
		return errors.New("refusing to unmount /")
	case m.writes() && (m.Src == "" || m.Fstype == ""):
		return errors.New("src and fstype are required")
	case strings.ContainsAny(m.Src+m.Fstype+m.Opts+m.Path, "\n#"):
		return errors.New("src, path, fstype and options cannot contain line feeds or #")
	}
	return nil
}

// writes reports whether the path must have a line in /etc/fstab.
func (m *Mount) writes() bool { return m.State == "" || m.State == "mounted" || m.State == "present" }

// mounts reports whether the file system must be mounted.
func (m *Mount) mounts() bool { return m.State == "" || m.State == "mounted" }

// table returns the wanted /etc/fstab; false when the file has that content.
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
	return &file.File{Path: fstab, Content: new(want), Empty: want == "", Follow: true}, want != string(data), nil
}

// todo returns the needed operation: mount, remount, move (another file system is
// mounted there), unmount, or nothing.
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
	case tableDiffers || !now.hasOptions(m.line().opts):
		return "remount", nil
	}
	return "", nil
}

// words are the actions of effects by operation.
var words = map[string]string{"mount": "mount", "remount": "mount again with other options", "move": "unmount what is there, and mount", "unmount": "unmount"}

// Check compares /etc/fstab and the mounts.
func (m *Mount) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := m.Valid(); err != nil {
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

// point returns the mount point. A symbolic link there is an error: mount would follow
// it to a path that no line of /etc/fstab names.
func (m *Mount) point() *file.Directory { return &file.Directory{Path: m.Path} }
