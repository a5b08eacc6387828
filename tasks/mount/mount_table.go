package mount

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
)

// present is a mounted file system: options are the options of this mount, super the
// options of the file system, which other mounts share.
type present struct{ source, root, fstype, options, super string }

// mounted returns the topmost mount at the path; nil without one. See
// proc_pid_mountinfo(5).
func mounted(sys engine.System, path string) (*present, error) {
	data, err := os.ReadFile(sys.Path("/proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	var found *present
	for text := range strings.Lines(string(data)) {
		before, after, ok := strings.Cut(text, " - ")
		head, tail := fields(before), fields(after)
		if !ok || len(head) < 6 || len(tail) < 2 || unescaper.Replace(head[4]) != path {
			continue
		}
		found = &present{source: unescaper.Replace(tail[1]), root: unescaper.Replace(head[3]), fstype: tail[0], options: head[5]}
		if len(tail) > 2 {
			found.super = tail[2]
		}
	}
	return found, nil
}

// bind reports whether the mount shows a directory of a file system.
func (l line) bind() bool {
	return slices.ContainsFunc(strings.Split(l.opts, ","), func(o string) bool { return o == "bind" || o == "rbind" })
}

// mountedAs reports whether the mount is the one that the line describes. mountedAs does not
// compare a file system type that the line leaves open, or sources that are only words,
// as a tmpfs has.
func (l line) mountedAs(sys engine.System, now present) bool {
	switch {
	case l.bind():
		return same(sys, l.src, l.path)
	case l.fstype != "auto" && l.fstype != now.fstype && !(l.fstype == "nfs" && now.fstype == "nfs4"):
		return false
	case strings.Contains(l.src, ":/"):
		return strings.TrimSuffix(l.src, "/") == strings.TrimSuffix(now.source, "/")
	}
	device := deviceOf(l.src)
	if device == "" {
		return true
	}
	want, err := filepath.EvalSymlinks(sys.Path(device))
	if err != nil {
		return false // the device does not exist, which mount reports
	}
	have, err := filepath.EvalSymlinks(sys.Path(now.source))
	return err == nil && want == have
}

// same reports whether two paths are the same directory.
func same(sys engine.System, a, b string) bool {
	one, err := os.Stat(sys.Path(a))
	if err != nil {
		return false
	}
	other, err := os.Stat(sys.Path(b))
	return err == nil && os.SameFile(one, other)
}

// deviceOf returns the device path for the first field of a line; empty when the field
// names none.
func deviceOf(src string) string {
	kind, value, ok := strings.Cut(src, "=")
	value = strings.Trim(value, `"`)
	switch {
	case ok && kind == "UUID":
		return "/dev/disk/by-uuid/" + value
	case ok && kind == "LABEL":
		return "/dev/disk/by-label/" + value
	case ok && kind == "PARTUUID":
		return "/dev/disk/by-partuuid/" + value
	case ok && kind == "PARTLABEL":
		return "/dev/disk/by-partlabel/" + value
	case strings.HasPrefix(src, "/dev/"):
		return src
	}
	return ""
}

// flags maps each option that the kernel shows under its own name to its opposite, which
// the kernel shows by omitting the option.
var flags = map[string]string{"ro": "rw", "nosuid": "suid", "nodev": "dev", "noexec": "exec", "noatime": "atime", "nodiratime": "diratime"}

// hasOptions reports whether the mount has the wanted flags. Other options belong to the
// file system, which shows them in its own words.
func (p present) hasOptions(want string) bool {
	has := strings.Split(p.options, ",")
	if slices.Contains(strings.Split(p.super, ","), "ro") {
		has = append(has, "ro")
	}
	for _, option := range strings.Split(want, ",") {
		for flag, opposite := range flags {
			on := slices.Contains(has, flag)
			if option == flag && !on || option == opposite && on {
				return false
			}
		}
	}
	return true
}
