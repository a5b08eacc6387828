package mount

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
)

// present is a file system that is mounted now. options are those of this mount,
// super those of the file system, wherever else it is mounted.
type present struct{ source, root, fstype, options, super string }

// mounted returns what is mounted at the path, on top of what else may be there;
// nil for nothing. See proc_pid_mountinfo(5).
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

// bind is true for a directory that is mounted at a second place.
func (l line) bind() bool {
	return slices.ContainsFunc(strings.Split(l.opts, ","), func(o string) bool { return o == "bind" || o == "rbind" })
}

// mountedAs reports whether what is mounted is what the line names. Kinds of file
// systems that the line leaves open, and sources that are only words, as that of
// a tmpfs, are not compared.
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
		return false // there is no such device: mount says so
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

// deviceOf is the path of the device that the first field of a line names, empty
// when it names none.
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

// flags are options that the kernel shows as they are asked for; each with its
// opposite, which it shows by leaving it out.
var flags = map[string]string{"ro": "rw", "nosuid": "suid", "nodev": "dev", "noexec": "exec", "noatime": "atime", "nodiratime": "diratime"}

// honours reports whether what is mounted has the flags that are asked for. Other
// options are the file system's own and are shown in words of its own.
func (p present) honours(want string) bool {
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
