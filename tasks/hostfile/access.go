package hostfile

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// Access is owner, group and mode of a file. An empty field keeps the present value,
// or the default for a new file.
type Access struct {
	Mode  string // octal, "0644"
	Owner string // name or number
	Group string // name or number
}

// ParseMode parses an octal mode of up to 12 bits, such as "0640" or "1777".
func ParseMode(s string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(s, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is not an octal number such as \"0644\"", s)
	}
	mode := fs.FileMode(n & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if n&bit != 0 {
			mode |= flag
		}
	}
	return mode, nil
}

// FormatMode formats a mode for ParseMode.
func FormatMode(m fs.FileMode) string {
	n := uint32(m.Perm())
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&flag != 0 {
			n |= bit
		}
	}
	return fmt.Sprintf("%04o", n)
}

// Valid returns an error for an invalid mode.
func (a Access) Valid() error {
	if a.Mode == "" {
		return nil
	}
	_, err := ParseMode(a.Mode)
	return err
}

const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Differences lists, in the words of an effect, what must change for a file to have
// this access. A missing user or group is a difference, because an earlier step of a
// dry run may create it.
func (a Access) Differences(sys engine.System, info fs.FileInfo) ([]string, error) {
	var out []string
	if a.Mode != "" {
		want, err := ParseMode(a.Mode)
		if err != nil {
			return nil, err
		}
		if have := info.Mode() & modeBits; have != want {
			out = append(out, fmt.Sprintf("set mode %s -> %s", FormatMode(have), FormatMode(want)))
		}
	}
	stat := info.Sys().(*syscall.Stat_t)
	if a.Owner != "" {
		if id, err := lookup(sys, "/etc/passwd", a.Owner); err != nil || id != int(stat.Uid) {
			out = append(out, fmt.Sprintf("set owner %d -> %s", stat.Uid, a.Owner))
		}
	}
	if a.Group != "" {
		if id, err := lookup(sys, "/etc/group", a.Group); err != nil || id != int(stat.Gid) {
			out = append(out, fmt.Sprintf("set group %d -> %s", stat.Gid, a.Group))
		}
	}
	return out, nil
}

// IDs returns the numbers of owner and group, -1 for an empty field.
func (a Access) IDs(sys engine.System) (uid, gid int, err error) {
	uid, gid = -1, -1
	if a.Owner != "" {
		if uid, err = lookup(sys, "/etc/passwd", a.Owner); err != nil {
			return -1, -1, err
		}
	}
	if a.Group != "" {
		if gid, err = lookup(sys, "/etc/group", a.Group); err != nil {
			return -1, -1, err
		}
	}
	return uid, gid, nil
}

// Set sets the access of an open node, so that nobody can exchange it. Set changes the
// owner before the mode, because a change of owner clears the setuid bits.
func (a Access) Set(sys engine.System, n *hostpath.Node) error {
	uid, gid, err := a.IDs(sys)
	if err != nil {
		return err
	}
	if uid >= 0 || gid >= 0 {
		if err := n.Chown(uid, gid); err != nil {
			return err
		}
	}
	if a.Mode == "" {
		return nil
	}
	mode, err := ParseMode(a.Mode)
	if err != nil {
		return err
	}
	return n.Chmod(mode)
}

// SetFile sets the access of the regular file at the host's path, which a check has described as
// was. SetFile fails when another file, or something else, has the path by now: a user who can
// write to the directory may put a program there.
func (a Access) SetFile(sys engine.System, path string, was fs.FileInfo) error {
	n, err := hostpath.Open(root(sys), path)
	if err != nil {
		return err
	}
	defer n.Close()
	info, err := n.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, was) || changeTime(info) != changeTime(was)) {
		err = fmt.Errorf("%s was exchanged or changed since it was compared: its access is not set; run again", path)
	}
	if err != nil {
		return err
	}
	return a.Set(sys, n)
}

// changeTime returns the time of the last change of a file's content, owner, mode or links.
func changeTime(info fs.FileInfo) syscall.Timespec { return info.Sys().(*syscall.Stat_t).Ctim }

// lookup finds a user or group by name in the host's own files, because os/user
// without cgo only knows the running machine's.
func lookup(sys engine.System, database, name string) (int, error) {
	if id, err := strconv.Atoi(name); err == nil && id >= 0 {
		return id, nil
	}
	kind := "user"
	if database == "/etc/group" {
		kind = "group"
	}
	f, err := os.Open(sys.Path(database))
	if err != nil {
		return 0, fmt.Errorf("looking up %s %q: %w", kind, name, err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) >= 3 && fields[0] == name {
			return strconv.Atoi(fields[2])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("looking up %s %q: %w", kind, name, err)
	}
	return 0, fmt.Errorf("there is no %s %q in %s: make it first", kind, name, database)
}
