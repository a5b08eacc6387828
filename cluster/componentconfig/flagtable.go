package componentconfig

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/strictyaml"
)

// flagTables has a file for each program and minor version; flags/generate writes
// them from the output of the program's --help.
//
//go:embed flags/*.txt
var flagTables embed.FS

// flagTable maps the flags of a program to whether its help calls them deprecated;
// false when there is no table for the version, such as v1.36.3.
func flagTable(program, version string) (table map[string]bool, ok bool) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil, false
	}
	raw, err := flagTables.ReadFile(fmt.Sprintf("flags/%s-%s.%s.txt", program, parts[0], parts[1]))
	if err != nil {
		return nil, false
	}
	table = map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		name, mark, _ := strings.Cut(strings.TrimSpace(line), " ")
		table[name] = mark == "deprecated"
	}
	return table, true
}

// program is one version of a program whose flags are checked, with the hosts that are
// to run it.
type program struct {
	key, name, version string
	hosts              []string
}

// programs lists the programs of a cluster, each version by itself, in the order of the
// hosts.
func programs(c *cluster.Cluster) []program {
	var out []program
	for _, p := range []struct{ key, name string }{
		{"apiserver", "kube-apiserver"}, {"controller_manager", "kube-controller-manager"}, {"scheduler", "kube-scheduler"},
		{"kubelet", "kubelet"}, {"kube_proxy", "kube-proxy"}, {"etcd", "etcd"},
	} {
		index := map[string]int{}
		for _, host := range c.Order {
			version := c.Nodes[host].Versions.Programs()[p.name]
			if version == "" {
				continue
			}
			if _, ok := index[version]; !ok {
				index[version] = len(out)
				out = append(out, program{key: p.key, name: p.name, version: version})
			}
			out[index[version]].hosts = append(out[index[version]].hosts, host)
		}
	}
	return out
}

func argsOf(n cluster.Node, key string) []string {
	return map[string][]string{
		"apiserver": n.Args.APIServer, "controller_manager": n.Args.ControllerManager, "scheduler": n.Args.Scheduler,
		"kubelet": n.Args.Kubelet, "kube_proxy": n.Args.KubeProxy, "etcd": n.Args.Etcd,
	}[key]
}

// flags reports flags that a program does not have, and values that it does not read, with
// which it would exit at its start.
func (k *checker) flags() {
	for _, p := range programs(k.cluster) {
		table, ok := flagTable(p.name, p.version)
		if !ok {
			continue
		}
		types := valueTypes(p.name, p.version)
		reported := map[string]bool{}
		for _, host := range p.hosts {
			k.host, k.at = host, []string{"overrides", p.key, "extra_args"}
			for _, arg := range argsOf(k.cluster.Nodes[host], p.key) {
				name, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				if _, known := table[name]; known {
					if wrong := wrongValue(p.name, types, name, value, given); wrong != "" {
						k.add([]string{name}, "%q %s: %s %s would not start", value, wrong, p.name, p.version)
					}
					continue
				}
				if reported[name] {
					continue
				}
				reported[name] = true
				k.add([]string{name}, "%s %s has no flag --%s%s", p.name, p.version, name, strictyaml.DidYouMean(name, slices.Collect(maps.Keys(table))))
			}
		}
	}
}

// flagName returns the name in --name=value.
func flagName(arg string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
	return name
}

// Warnings returns advice about flags that no program refuses: flags that the program calls
// deprecated, and programs whose flags were not checked because there is no table of their
// version. given reports whether the inventory sets a component's flag for a
// host; deployer's own flags are not the user's to change.
func Warnings(c *cluster.Cluster, given func(host, component, flag string) bool) []string {
	var out []string
	for _, p := range programs(c) {
		table, ok := flagTable(p.name, p.version)
		if !ok {
			out = append(out, fmt.Sprintf("the flags of %s were not checked: there is no table of those of %s", p.name, p.version))
			continue
		}
		said := map[string]bool{}
		for _, host := range p.hosts {
			for _, arg := range argsOf(c.Nodes[host], p.key) {
				if name := flagName(arg); table[name] && !said[name] && given(host, p.key, name) {
					said[name] = true
					out = append(out, fmt.Sprintf("%s %s calls its flag --%s deprecated", p.name, p.version, name))
				}
			}
		}
	}
	return out
}
