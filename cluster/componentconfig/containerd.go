package componentconfig

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// containerdMinor is the newest minor version of containerd 2 whose settings are known here.
const containerdMinor = 2

// containerd checks the configuration of containerd on hosts with a version of it. containerd
// ignores a setting that it does not know, with a warning in its log, so a misspelled one has
// no effect and causes no error. A version that is newer than the types here is not checked.
func (k *checker) containerd(value map[string]any, version string) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || parts[0] != "v2" {
		return
	}
	if minor, err := strconv.Atoi(parts[1]); err != nil || minor > containerdMinor {
		return
	}
	root := maps.Clone(value)
	delete(root, "plugins")
	plugins := mapping(value, "plugins")
	runtime := mapping(plugins, "io.containerd.cri.v1.runtime")
	at := k.at
	for _, part := range []struct {
		name  string // name of the part of the overrides; empty for settings without one
		value map[string]any
		into  reflect.Type
	}{
		{"root", root, reflect.TypeFor[containerdRoot]()},
		{"images", mapping(plugins, "io.containerd.cri.v1.images"), reflect.TypeFor[criImages]()},
		{"", runtime, reflect.TypeFor[criRuntime]()},
		{"runc", mapping(runtime, "containerd", "runtimes", "runc", "options"), reflect.TypeFor[runcOptions]()},
	} {
		k.at = at
		if part.name != "" {
			k.at = slices.Concat(at, []string{part.name})
		}
		k.walk(part.value, part.into, nil)
	}
}

// mapping returns the mapping below some keys; empty when there is none.
func mapping(value map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		value, _ = value[key].(map[string]any)
	}
	return value
}
