package effects

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/kernel"
)

// settingDirs are the directories of kernel settings, of rising precedence: a file hides one of
// the same name in an earlier directory (sysctl.d(5)).
var settingDirs = []string{"/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d"}

// settings returns the kernel settings in the order in which a boot sets them: all files, by name.
// /etc/sysctl.conf is no part of it: systemd does not read it, except through a link.
func settings(sys engine.System) []Setting {
	files := map[string]string{}
	for _, dir := range settingDirs {
		for _, name := range names(sys, dir) {
			if filepath.Ext(name) == ".conf" {
				files[name] = filepath.Join(dir, name)
			}
		}
	}
	var out []Setting
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, _ := readSmall(sys, files[name])
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			if key, value, ok := strings.Cut(line, "="); ok {
				key = strings.TrimPrefix(strings.TrimSpace(key), "-") // errors of it are ignored
				out = append(out, Setting{File: files[name], Key: key, Value: kernel.Normal(value)})
			}
		}
	}
	return out
}

// live returns the present values of settings.
func live(sys engine.System, wanted map[string]string) map[string]string {
	out := map[string]string{}
	for key := range wanted {
		if raw, err := os.ReadFile(sys.Path(kernel.ProcPath(key))); err == nil {
			out[key] = kernel.Normal(string(raw))
		}
	}
	return out
}

// setsKey reports whether a line of a file sets a setting: its key may be a pattern, and dots and
// slashes are exchangeable.
func setsKey(pattern, key string) bool {
	if !strings.ContainsAny(pattern, "*?[") {
		return kernel.ProcPath(pattern) == kernel.ProcPath(key)
	}
	ok, err := path.Match(kernel.ProcPath(pattern), kernel.ProcPath(key))
	return ok && err == nil
}
