// Package componentconfig checks the configuration of a resolved cluster's
// components before any host is touched: files are decoded strictly with the
// component's own types; a value that decodes and makes the component exit at its start is
// refused by the component's own rules.
//
// Everything here is pure; an [InvalidValue] names the key by its path in the inventory.
package componentconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"deployer/cluster"
)

// InvalidValue is a value that a component would refuse.
type InvalidValue struct {
	Host    string   // the first host with the value; empty for values of the whole cluster
	Path    []string // keys below `cluster:`, or below a host or group that sets the value
	Message string   // the value, what is wrong with it, and what to do; one line
}

// Key returns the path as people write it.
func (m InvalidValue) Key() string { return "cluster." + strings.Join(m.Path, ".") }

// Check checks the configuration of every component on every host. Each invalid value is
// reported once, however many hosts have it.
func Check(c *cluster.Cluster) []InvalidValue {
	k := &checker{cluster: c, seen: map[string]bool{}}
	for _, name := range c.Order {
		n := c.Nodes[name]
		if !n.IsNode {
			continue
		}
		k.host = name
		k.file("kubelet", n.KubeletConfig, []string{"overrides", "kubelet"}, "registerWithTaints", k.kubelet)
		k.file("kube_proxy", n.KubeProxyConfig, []string{"overrides", "kube_proxy"}, "hostnameOverride", k.kubeProxy)
		k.file("containerd "+n.Versions.Containerd, n.Containerd, []string{"overrides", "containerd"}, "", func(value map[string]any) {
			k.containerd(value, n.Versions.Containerd)
		})
	}
	k.flags()
	k.gates()
	k.nodes()
	k.host = ""
	if c.Audit.Enabled {
		k.file("audit", c.Audit.Policy, []string{"api", "audit", "policy"}, "", k.auditPolicy)
	}
	return k.found
}

// checker collects the invalid values of one Check.
type checker struct {
	cluster *cluster.Cluster
	host    string
	at      []string // the path of the file under test
	found   []InvalidValue
	seen    map[string]bool
}

// file checks the content of one file unless the same was checked before. own is
// the key whose value differs from host to host.
func (k *checker) file(component string, value map[string]any, at []string, own string, check func(map[string]any)) {
	rest := maps.Clone(value)
	delete(rest, own)
	raw, err := json.Marshal(rest)
	if err != nil || k.seen[component+" "+string(raw)] {
		return // a value that JSON cannot hold does not come from an inventory
	}
	k.seen[component+" "+string(raw)] = true
	k.at = at
	check(value)
}

func (k *checker) add(path []string, format string, args ...any) {
	m := InvalidValue{Host: k.host, Path: slices.Concat(k.at, path), Message: fmt.Sprintf(format, args...)}
	if id := m.Key() + "\x00" + m.Message; !k.seen[id] {
		k.seen[id] = true
		k.found = append(k.found, m)
	}
}

// decode fills a component's own type. decode reports a value that does not fit the type, and
// returns false then.
func (k *checker) decode(value map[string]any, into any) bool {
	before := len(k.found)
	k.walk(value, reflect.TypeOf(into).Elem(), nil)
	if len(k.found) > before {
		return false
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		k.add(nil, "%v", err)
	}
	return err == nil
}
