package cluster

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checkOverrides refuses overrides of a host that change what deployer owns.
func (r *resolver) checkOverrides(h Host, n Node, over map[string]any) {
	check := func(component string, at []string, own, got map[string]any) {
		r.checkOwned(h, append([]string{component}, at...), own, got, openSettings[component], insteadSettings[component])
	}
	checkFlags := func(component string, own map[string]any) {
		if given := section(section(over, component), extraArgs); len(given) > 0 {
			check(component, []string{extraArgs}, own, merge(own, given))
		}
	}
	if n.RunsAPIServer {
		checkFlags(componentAPIServer, r.apiServerFlags(n))
		checkFlags(componentControllerManager, settings(r.controllerManagerFlags()))
		checkFlags(componentScheduler, settings(r.schedulerFlags()))
	}
	if n.IsEtcd {
		checkFlags(componentEtcd, settings(r.etcdFlags(n)))
	}
	if !n.IsNode {
		return
	}
	checkFlags(componentKubelet, settings(kubeletFlags(n)))
	kubelet := r.kubeletConfig(n)
	r.checkKubeletFlags(h, section(section(over, componentKubelet), extraArgs), kubelet)
	check(componentKubelet, nil, kubelet, n.KubeletConfig)
	if n.RunsKubeProxy {
		checkFlags(componentKubeProxy, settings(kubeProxyFlags()))
		check(componentKubeProxy, nil, r.kubeProxyConfig(n), n.KubeProxyConfig)
	}
	check(componentContainerd, nil, containerdBase(n), n.Containerd)
}

// checkKubeletFlags refuses the flags of owned settings of the kubelet's file, because a flag
// takes precedence over the file.
func (r *resolver) checkKubeletFlags(h Host, given, own map[string]any) {
	for _, path := range leaves("", own) {
		flag := kubeletFlag(path)
		if _, has := given[flag]; has && !slices.Contains(openSettings[componentKubelet], path) {
			r.refuseOwned(h, []string{componentKubelet, extraArgs, flag}, lookup(own, path), insteadSettings[componentKubelet][path])
		}
	}
}

// leaves returns the paths of all values in nested maps that are no maps, sorted.
func leaves(at string, m map[string]any) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if below, isMap := m[key].(map[string]any); isMap {
			out = append(out, leaves(at+key+".", below)...)
			continue
		}
		out = append(out, at+key)
	}
	return out
}

// lookup returns the value at a path of [leaves] whose keys have no dots.
func lookup(m map[string]any, path string) any {
	key, rest, nested := strings.Cut(path, ".")
	if !nested {
		return m[key]
	}
	return lookup(section(m, key), rest)
}

// checkOwned compares the settings of a host's component with those that deployer writes without
// overrides. deployer owns each of them that open does not name: other parts of the
// cluster follow from it. at is the path of the settings below `overrides:`; instead has the
// setting of the inventory to use.
//
// The owned settings are computed from what is written, so a new one is owned from its first
// day.
func (r *resolver) checkOwned(h Host, at []string, own, got map[string]any, open []string, instead map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(own)) {
		path := append(slices.Clone(at), key)
		name := strings.Join(settingPath(path), ".")
		if slices.Contains(open, name) {
			continue
		}
		below, isMap := own[key].(map[string]any)
		if isMap { // without a map in its place, all below is gone
			value, _ := got[key].(map[string]any)
			r.checkOwned(h, path, below, value, open, instead)
			continue
		}
		if value, has := got[key]; !has || flagText(value) != flagText(own[key]) && !reflect.DeepEqual(value, own[key]) {
			r.refuseOwned(h, path, own[key], instead[name])
		}
	}
}

// settingPath returns the part of a path that names a setting in the tables: without the
// component, and without extra_args.
func settingPath(path []string) []string {
	if len(path) > 2 && path[1] == extraArgs {
		return path[2:]
	}
	return path[1:]
}

// refuseOwned adds the problem of a setting that is not the user's.
func (r *resolver) refuseOwned(h Host, path []string, own any, instead string) {
	advice := "leave it out"
	if instead != "" {
		advice = "use " + instead
	}
	if path[0] == componentContainerd {
		path = r.containerdPath(h, path)
	}
	subject := "cluster.overrides." + strings.Join(path, ".")
	if hasPath(h.Overrides, path) {
		subject = h.Name + ": overrides." + strings.Join(path, ".")
	}
	p := Problem{Code: "owned-setting", Subject: subject, Component: path[0],
		Message: fmt.Sprintf("deployer sets this to %s, and other parts of the cluster depend on it: %s", shortValue(own), advice)}
	if !slices.ContainsFunc(r.problems, func(other Problem) bool { return other.Subject == p.Subject }) {
		r.problems = append(r.problems, p)
	}
}

// containerdPath returns the path of a setting of containerd's file as overrides have it: by
// part, or without one for the part runtime.
func (r *resolver) containerdPath(h Host, path []string) []string {
	candidates := [][]string{append([]string{componentContainerd, "root"}, path[1:]...)}
	if len(path) > 3 && path[1] == "plugins" {
		rest := path[3:]
		candidates = [][]string{append([]string{componentContainerd, "images"}, rest...)}
		if path[2] == criRuntime {
			candidates = [][]string{append([]string{componentContainerd, "runtime"}, rest...), append([]string{componentContainerd}, rest...)}
		}
	}
	for _, c := range candidates {
		if hasPath(h.Overrides, c) || hasPath(r.spec.Overrides, c) {
			return c
		}
	}
	return candidates[0]
}

// shortValue returns a value for a message.
func shortValue(v any) string {
	text := flagText(v)
	if list, isList := v.([]any); isList {
		var parts []string
		for _, e := range list {
			parts = append(parts, flagText(e))
		}
		text = strings.Join(parts, ",")
	}
	if len(text) > 60 {
		text = text[:60] + "..."
	}
	return fmt.Sprintf("%q", text)
}

// hasPath reports whether nested maps set the value at a path: by a key, or by a null or another
// value in the place of a map on the way.
func hasPath(m map[string]any, path []string) bool {
	for i, key := range path {
		value, has := m[key]
		if !has {
			return false
		}
		below, isMap := value.(map[string]any)
		if i == len(path)-1 || !isMap {
			return true
		}
		m = below
	}
	return false
}

// settings returns flags as settings.
func settings(flags map[string]string) map[string]any {
	out := make(map[string]any, len(flags))
	for name, value := range flags {
		out[name] = value
	}
	return out
}
