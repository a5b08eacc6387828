package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"deployer/engine"
	"deployer/engine/hostpath"
	"deployer/tasks/hostfile"
)

// extractor writes below one directory and nowhere else: the kernel resolves each
// name below the directory and refuses to leave it, and links on the way are not
// followed.
type extractor struct {
	sys      engine.System
	root     *os.Root
	path     string // of the root, on the host
	uid, gid int    // -1 for those of the process
	known    map[string]bool
	modes    map[string]fs.FileMode // of created directories, set last, because some are read-only
	made     map[string]string      // types of the unpacked members, by name
	changed  int
}

// extract writes one member.
func (i *extractor) extract(name string, m member) error {
	if err := i.parents(name); err != nil {
		return err
	}
	have, err := i.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		have, err = nil, nil
	}
	if err != nil {
		return err
	}
	if have != nil && have.IsDir() != m.mode.IsDir() {
		return fmt.Errorf("%s is %s, and the archive has %s there: remove it first", i.parentOf(name), kindOf(have.Mode()), kindOf(m.mode))
	}
	i.made[name] = kindOf(m.mode)
	switch {
	case m.mode.IsDir():
		return i.directory(name, m, have)
	case m.hard:
		i.made[name] = kindOf(0)
		return i.hardLink(name, m, have)
	case m.mode&fs.ModeSymlink != 0:
		return i.link(name, m, have)
	}
	return i.plain(name, m, have)
}

func (i *extractor) parentOf(name string) string { return path.Join(i.path, name) }

// kindOf names a type of file, for the receipt and for people.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}

// parents creates the directories above a member that the archive does not list.
func (i *extractor) parents(name string) error {
	dir := path.Dir(name)
	if dir == "." || i.known[dir] {
		return nil
	}
	if err := i.parents(dir); err != nil {
		return err
	}
	have, err := i.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return i.directory(dir, member{mode: fs.ModeDir | 0o755}, nil)
	case err != nil:
		return err
	case !have.IsDir():
		return fmt.Errorf("%s is %s, and the archive has a directory there: remove it first", i.parentOf(dir), kindOf(have.Mode()))
	}
	hostfile.Sweep(i.sys, i.parentOf(dir))
	i.known[dir] = true
	return nil
}

func (i *extractor) directory(name string, m member, have fs.FileInfo) error {
	i.known[name] = true
	if have != nil { // an existing directory keeps its mode
		hostfile.Sweep(i.sys, i.parentOf(name))
		return nil
	}
	i.modes[name] = m.mode.Perm()
	i.changed++
	if err := i.sys.Backup(i.parentOf(name)); err != nil {
		return err
	}
	above, base, err := hostfile.Parent(i.sys, i.parentOf(name))
	if err != nil {
		return err
	}
	defer above.Close()
	made, err := above.Mkdir(base, 0o755)
	if err != nil {
		return err
	}
	defer made.Close()
	return made.Chown(i.uid, i.gid)
}

// plain writes a file under a temporary name. A file with the same content stays, so
// that its time does not change and nothing restarts.
func (i *extractor) plain(name string, m member, have fs.FileInfo) error {
	return i.replace(name, func(temp string) (bool, error) {
		f, err := i.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return false, err
		}
		sum := sha256.New()
		_, err = io.Copy(io.MultiWriter(f, sum), m.content)
		if err = errors.Join(err, i.keepLabel(name, f, have), i.applyAttributes(hostpath.NodeOf(f), m), f.Close()); err != nil {
			return false, err
		}
		if have != nil && have.Mode().IsRegular() && have.Size() == m.size && i.hasContent(name, sum.Sum(nil)) {
			return false, i.restoreAttributes(name, m, have)
		}
		return true, nil
	})
}

// keepLabel gives a file the SELinux context of the file that it replaces.
func (i *extractor) keepLabel(name string, f *os.File, have fs.FileInfo) error {
	if have == nil || !have.Mode().IsRegular() {
		return nil
	}
	old, err := i.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	return hostfile.CopyLabel(old, f)
}

func (i *extractor) hasContent(name string, want []byte) bool {
	f, err := i.root.Open(name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return err == nil && bytes.Equal(sum.Sum(nil), want)
}

// applyAttributes sets owner and mode, without setuid and setgid bits: an archive
// must not decide who runs its programs as whom.
func (i *extractor) applyAttributes(n *hostpath.Node, m member) error {
	if err := n.Chown(i.uid, i.gid); err != nil {
		return err
	}
	return n.Chmod(m.mode.Perm())
}

// open opens a member itself, never the target of a link. open fails when the member is not of
// the wanted type, because another user has replaced it.
func (i *extractor) open(name string, want fs.FileMode) (*hostpath.Node, fs.FileInfo, error) {
	n, err := hostpath.Open(i.sys.Path("/"), i.parentOf(name))
	if err != nil {
		return nil, nil, err
	}
	info, err := n.Stat()
	if err == nil && info.Mode().Type() != want.Type() {
		err = replacedError(n.Path)
	}
	if err != nil {
		n.Close()
		return nil, nil, err
	}
	return n, info, nil
}

func replacedError(path string) error {
	return fmt.Errorf("%s was replaced by another user while the archive was unpacked: its access is not set", path)
}

// chownLink sets the owner of a link.
func (i *extractor) chownLink(name string) error {
	n, _, err := i.open(name, fs.ModeSymlink)
	if err != nil {
		return err
	}
	defer n.Close()
	return n.Chown(i.uid, i.gid)
}

// restoreAttributes is applyAttributes for a file that stays.
func (i *extractor) restoreAttributes(name string, m member, have fs.FileInfo) error {
	if have.Mode().Perm() != m.mode.Perm() {
		i.changed++
		if err := i.sys.Backup(i.parentOf(name)); err != nil {
			return err
		}
	}
	n, info, err := i.open(name, 0)
	if err != nil {
		return err
	}
	defer n.Close()
	if !os.SameFile(info, have) {
		return replacedError(n.Path)
	}
	return i.applyAttributes(n, m)
}

func (i *extractor) link(name string, m member, have fs.FileInfo) error {
	if have != nil {
		if target, err := i.root.Readlink(name); err == nil && target == m.link {
			return i.chownLink(name)
		}
	}
	return i.replace(name, func(temp string) (bool, error) {
		if err := i.root.Symlink(m.link, temp); err != nil {
			return false, err
		}
		return true, i.chownLink(temp)
	})
}

func (i *extractor) hardLink(name string, m member, have fs.FileInfo) error {
	target, err := i.root.Lstat(m.link)
	if err != nil {
		return fmt.Errorf("%s is a hard link to %s, which was not unpacked: %w", name, m.link, err)
	}
	if have != nil && os.SameFile(have, target) {
		return nil
	}
	return i.replace(name, func(temp string) (bool, error) { return true, i.root.Link(m.link, temp) })
}

// replace creates a file with a temporary name and renames it, unless make reports that it
// is not needed.
func (i *extractor) replace(name string, make func(temp string) (bool, error)) error {
	temp := path.Join(path.Dir(name), hostfile.TempName(path.Base(name))+"u")
	defer func() { _ = i.root.Remove(temp) }()
	needed, err := make(temp)
	if err != nil || !needed {
		return err
	}
	i.changed++
	if err := i.sys.Backup(i.parentOf(name)); err != nil {
		return err
	}
	return i.root.Rename(temp, name)
}

// finish sets the modes of directories, the innermost first.
func (i *extractor) finish() error {
	names := make([]string, 0, len(i.modes))
	for name := range i.modes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		n, _, err := i.open(name, fs.ModeDir)
		if err != nil {
			return err
		}
		err = n.Chmod(i.modes[name])
		n.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
