package cluster

import (
	"fmt"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checker collects the problems of one [Validate].
type checker struct {
	spec       Spec // with defaults
	calico     bool // the inventory has settings of Calico
	calicoEtcd bool // the inventory has settings of the etcd cluster of Calico
	hosts      []Host
	place      placement
	problems   Problems

	nodeCertificates bool // the inventory says that nodes renew their certificates
}

// Validate checks without any network whether spec and hosts can make a working
// cluster, and returns every reason why not, in a fixed order. Each has a stable
// code and one line that says what to do.
func Validate(spec Spec, hosts []Host) Problems {
	calico, calicoEtcd := !reflect.DeepEqual(spec.Network.Calico, CalicoSpec{}), spec.Network.Calico.Etcd != CalicoEtcdSpec{}
	nodes := spec.Keeper.Certificates.Nodes
	spec = spec.WithDefaults()
	c := &checker{spec: spec, hosts: hosts, place: place(spec, hosts), calico: calico, calicoEtcd: calicoEtcd, nodeCertificates: nodes != nil && *nodes}
	c.checkHosts()
	c.checkPlacement()
	c.checkVersions()
	c.checkRanges()
	c.checkNames()
	c.checkPorts()
	c.checkProxyTLS()
	c.checkTimes()
	c.checkCertificates()
	c.checkNetwork()
	c.checkHostFirewall()
	c.checkEndpoint()
	c.checkVirtualIP()
	c.checkCalico()
	c.checkBGP()
	c.checkOverrides()
	c.checkWantedSkew()
	c.checkSysctls()
	c.checkPlainValues()
	c.checkEvents()
	c.checkRegistries()
	c.checkRollout()
	c.checkHooks()
	c.problems = append(c.problems, CheckKeeper(c.spec.Keeper)...)
	c.checkNodeCertificates()
	c.checkUnmanagedNodes()
	c.checkAddons()
	c.checkImageOverrides()
	return c.problems
}

func (c *checker) add(code, subject, format string, args ...any) {
	c.problems = append(c.problems, Problem{Code: code, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

// checkHosts checks each host by itself, and the attributes that must be unique.
func (c *checker) checkHosts() {
	byAddress, byName := map[string]string{}, map[string]bool{}
	for _, h := range c.hosts {
		if byName[h.Name] {
			c.add("duplicate-host", h.Name, "two hosts have this name: rename one")
		}
		byName[h.Name] = true
		for _, role := range h.Roles {
			if !slices.Contains([]string{RoleMaster, RoleMinion, RoleEtcd, RoleProxy}, role) {
				c.add("unknown-role", h.Name, "there is no role %q: the roles are master, minion, etcd and proxy", role)
			}
		}
		for _, t := range h.Taints {
			if _, ok := parseTaint(t); !ok {
				c.add("bad-taint", h.Name, "taint %q is not key=value:Effect with NoSchedule, PreferNoSchedule or NoExecute", t)
			}
		}
		if len(h.Roles) == 0 {
			continue // not part of the cluster, so its address does not matter
		}
		ip := h.ip()
		if !ip.IsValid() {
			c.add("bad-address", h.Name, "address %q is not an IP address: the cluster's hosts know each other by address, so write the one that the others reach, or add it as node_address", h.Address)
			continue
		}
		for _, ip := range h.ips() {
			if ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() {
				c.add("bad-address", h.Name, "address %s cannot be reached by other hosts: write the one that the others reach, or add it as node_address", ip)
			}
		}
		if all := h.ips(); len(all) > 2 || len(all) == 2 && all[0].Is4() == all[1].Is4() {
			c.add("bad-address", h.Name, "node_address %s has two addresses of one family: write one address, or one of IPv4 and one of IPv6", h.NodeAddress)
		}
		for _, ip := range h.ips() {
			if first, taken := byAddress[ip.String()]; taken {
				c.add("duplicate-address", h.Name, "address %s is that of %s too: correct one of them, or give each a node_address when SSH reaches both at one address", ip, first)
				continue
			}
			byAddress[ip.String()] = h.Name
		}
	}
}

// checkUnmanagedNodes refuses patterns that are none, and those that would hide a host of the
// inventory.
func (c *checker) checkUnmanagedNodes() {
	for _, pattern := range c.spec.Unmanaged {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			c.add("bad-pattern", "cluster.unmanaged_nodes", "%q is not the name of a node or a pattern such as virtual-*", pattern)
			continue
		}
		for _, h := range c.hosts {
			if match, _ := path.Match(pattern, h.Name); match && len(h.Roles) > 0 {
				c.add("managed-node", "cluster.unmanaged_nodes", "%q matches host %s of the inventory: name other nodes only", pattern, h.Name)
				break
			}
		}
	}
}

func (c *checker) checkPlacement() {
	if len(c.place.masters) == 0 {
		c.add("no-master", "roles.master", "no host is a master: give at least one host the role master, three for high availability")
	}
	switch n := len(c.place.etcd); {
	case n > 0 && n%2 == 0 && !c.spec.Etcd.AllowEven:
		c.add("even-etcd", "roles.etcd", "%d etcd members survive no more failures than %d: use %d or %d, or set etcd.allow_even: true", n, n-1, n-1, n+1)
	case n > 7:
		// etcd.io/docs/v3.6/faq, "What is maximum cluster size?": seven at most.
		c.add("too-many-etcd", "roles.etcd", "%d etcd members make every write slow: use 3, 5 or 7", n)
	}
}

// sysctlName matches a kernel setting as sysctl.d(5) has it.
var sysctlName = regexp.MustCompile(`^-?[a-z0-9_]+([./][A-Za-z0-9_*:-]+)+$`)

// checkSysctls refuses names that are none, and values with which the kubelet would not start or
// pods would not be routed.
func (c *checker) checkSysctls() {
	fixed := kubeletSysctls()
	for _, name := range sortedKeys(c.spec.Sysctls) {
		value := c.spec.Sysctls[name]
		if !sysctlName.MatchString(name) || strings.TrimSpace(value) == "" || strings.ContainsAny(value, "\r\n") {
			c.add("bad-sysctl", "cluster.sysctls", "%s = %q is no kernel setting: write a name such as net.core.somaxconn and a value of one line", name, value)
		}
		if setting := strings.ReplaceAll(name, "/", "."); value != "1" && (setting == ipForward || setting == ip6Forward && c.spec.hasIPv6()) {
			c.add("fixed-sysctl", "cluster.sysctls", "%s must be 1, or no packet reaches a pod: leave it out", name)
		}
		if want, isFixed := fixed[name]; isFixed && c.spec.Sysctls[name] != want {
			c.add("fixed-sysctl", "cluster.sysctls", "%s must be %s, or the kubelet does not start: leave it out", name, want)
		}
	}
}

// componentKeys are the keys that overrides may have.
func componentKeys() []string {
	return []string{
		componentAPIServer, componentControllerManager, componentScheduler,
		componentKubelet, componentKubeProxy, componentContainerd, componentEtcd,
	}
}

// onlyFlags are the components without a configuration file: their overrides are flags.
func onlyFlags() []string {
	return []string{componentAPIServer, componentControllerManager, componentScheduler, componentEtcd}
}

func (c *checker) checkOverrides() {
	c.checkOverrideMap("cluster.overrides", c.spec.Overrides)
	for _, h := range c.hosts {
		c.checkOverrideMap(h.Name+": overrides", h.Overrides)
	}
}

func (c *checker) checkOverrideMap(where string, over map[string]any) {
	for _, name := range sortedKeys(over) {
		if !slices.Contains(componentKeys(), name) {
			c.add("unknown-component", where, "there is no component %q: the components are %s", name, strings.Join(componentKeys(), ", "))
			continue
		}
		if name == componentKubeProxy && c.spec.KubeProxy.Mode == KubeProxyNone {
			c.add("unused-override", where+"."+name, "with cluster.kube_proxy.mode: %s there is no kube-proxy: remove the section", KubeProxyNone)
			continue
		}
		settings, isMap := over[name].(map[string]any)
		if !isMap {
			if over[name] != nil {
				c.add("bad-override", where+"."+name, "settings are a map: write %s: {extra_args: {...}}", name)
			}
			continue
		}
		c.checkVersionKey(where+"."+name, name, settings)
		if args, has := settings[extraArgs]; has && args != nil {
			c.checkExtraArgs(where+"."+name, name, args)
			if name == componentEtcd {
				c.checkWALDir(where+"."+name, args)
			}
		}
		if !slices.Contains(onlyFlags(), name) {
			continue
		}
		for _, key := range sortedKeys(settings) {
			if key != extraArgs && key != versionKey {
				c.add("unknown-override", where+"."+name, "there is no setting %q: flags go below extra_args, and version is the component's version", key)
			}
		}
	}
}

func (c *checker) checkExtraArgs(where, component string, args any) {
	m, isMap := args.(map[string]any)
	if !isMap {
		c.add("bad-override", where+"."+extraArgs, "flags are a map of names to values, without leading dashes")
		return
	}
	for _, name := range sortedKeys(m) {
		if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "= \t\n") || name == "" {
			c.add("bad-flag", where+"."+extraArgs, "%q is not the name of a flag: write it without leading dashes and without its value", name)
		}
		if why := reservedFlags[component][name]; why != "" {
			c.add("reserved-flag", where+"."+extraArgs+"."+name, "this flag is not for overrides, because %s: leave it out", why)
		}
		if _, nested := m[name].(map[string]any); nested {
			c.add("bad-flag", where+"."+extraArgs, "the value of %q is a map: a flag has a text, a number, a list or null, which removes it", name)
		}
	}
}

// checkWALDir refuses a directory of etcd's write-ahead log that is no directory beside that of
// its data. At each start root gives both to etcd's user, who could put a link to any other
// directory in the place of one that is inside the other.
func (c *checker) checkWALDir(where string, args any) {
	m, _ := args.(map[string]any)
	dir, has := m["wal-dir"]
	text, isText := dir.(string)
	if !has || dir == nil || text == "" && isText {
		return
	}
	data, events, calico := c.spec.Etcd.DataDir, c.spec.Etcd.Events, c.spec.Network
	switch {
	case !isText || !path.IsAbs(text) || path.Clean(text) != text || text == "/":
		c.add("bad-path", where+"."+extraArgs, "wal-dir %v is not the absolute path of a directory of its own", dir)
	case nested(text, data):
		c.add("bad-path", where+"."+extraArgs, "wal-dir %s is not apart from the data of etcd in %s: choose another directory, or leave it out", text, data)
	case events.Enabled && nested(text, events.DataDir):
		c.add("bad-path", where+"."+extraArgs, "wal-dir %s is not apart from the data of etcd for events in %s: choose another directory", text, events.DataDir)
	case calico.usesEtcd() && nested(text, calico.Calico.Etcd.DataDir):
		c.add("bad-path", where+"."+extraArgs, "wal-dir %s is not apart from the data of etcd for Calico in %s: choose another directory", text, calico.Calico.Etcd.DataDir)
	}
}

// nested reports whether two paths are the same, or one is inside the other.
func nested(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// urlPort returns the port of a URL.
func urlPort(raw string) (int, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return 0, false
	}
	port, err := strconv.Atoi(u.Port())
	return port, err == nil
}
