package change

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/inventory"
	"deployer/jsontypes"
	"deployer/project"
	"deployer/strictyaml"
)

// Site has the parts of one revision of a cluster that changes are computed from.
type Site struct {
	Cluster  string            // cluster.name
	Versions map[string]string // of components, by the words of cluster.versions
	Hosts    []Host            // hosts with a role, in inventory order
	Groups   map[string][]string
	// Settings are the keys of the sections cluster and artifacts, without versions.
	Settings []Setting
	// Playbooks run in this order, those before the cluster is changed and those after it.
	Playbooks []Playbook
	// Version is the place of cluster.kubernetes.
	Version strictyaml.Pos
}

// Host is a host that has at least one role.
type Host struct {
	Name, Address string   // Address is that of the node
	Roles         []string // resolved: masters are members of etcd where no other host is
	Pos           strictyaml.Pos
	Settings      []Setting // variables, overrides, labels, taints and the address
}

// Has reports whether a host has a role.
func (h Host) Has(role string) bool { return slices.Contains(h.Roles, role) }

// ControlPlane reports whether a host runs the control plane or etcd.
func (h Host) ControlPlane() bool { return h.Has(inventory.Master) || h.Has(inventory.Etcd) }

// Setting is one value of an inventory. Setting has a digest instead of the value, which may be
// secret.
type Setting struct {
	Key    string // such as cluster.kubelet.max_pods
	Digest string
	Pos    strictyaml.Pos
}

// Host returns the host with a name.
func (s *Site) Host(name string) (Host, bool) {
	if s == nil {
		return Host{}, false
	}
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return s.Hosts[i], true
}

// With returns the names of the hosts with a role.
func (s *Site) With(role string) []string {
	var out []string
	if s != nil {
		for _, h := range s.Hosts {
			if h.Has(role) {
				out = append(out, h.Name)
			}
		}
	}
	return out
}

// Of returns the site of a project; nil for a project without a cluster.
func Of(p *project.Project) *Site {
	if p == nil || p.Cluster == nil {
		return nil
	}
	inv := p.Inventory
	s := &Site{Cluster: p.Cluster.Name, Groups: inv.Table(), Versions: versionsOf(p)}
	s.Settings = append(flatten("cluster", inv.File, inv.Cluster), flatten("artifacts", inv.File, inv.Artifacts)...)
	s.Settings = append(slices.DeleteFunc(s.Settings, isVersion), addonFiles(p)...)
	s.Version = strictyaml.Pos{File: inv.File}
	if n := strictyaml.ValueOf(inv.Cluster, "kubernetes"); n != nil {
		s.Version = strictyaml.At(inv.File, n)
	}
	for _, name := range p.Cluster.Order {
		h, _ := inv.Host(name)
		n := p.Cluster.Nodes[name]
		out := Host{Name: name, Address: n.IP, Pos: h.Pos, Settings: hostSettings(inv, h)}
		for _, r := range []struct {
			role string
			has  bool
		}{{inventory.Master, n.IsMaster}, {inventory.Minion, n.IsMinion && !n.IsMaster}, {inventory.Etcd, n.IsEtcd}, {inventory.Proxy, n.IsProxy}} {
			if r.has {
				out.Roles = append(out.Roles, r.role)
			}
		}
		if len(out.Roles) > 0 { // others are only named
			s.Hosts = append(s.Hosts, out)
		}
	}
	return s
}

// addonFiles returns the files of each add-on as one setting.
func addonFiles(p *project.Project) []Setting {
	var out []Setting
	if p.Addons == nil {
		return nil
	}
	for _, a := range *p.Addons {
		pos := strictyaml.Pos{File: p.Inventory.File}
		if n := strictyaml.ValueOf(p.Inventory.Cluster, "addons"); n != nil {
			pos = strictyaml.At(p.Inventory.File, n)
		}
		out = append(out, Setting{"files of add-on " + a.Name, a.Sources, pos})
	}
	return out
}

// clusterVersion maps a component of a host to the component of the cluster that gives it
// its version, unless the host has a version of its own.
var clusterVersion = map[string]string{
	"apiserver": "kubernetes", "controller_manager": "kubernetes", "scheduler": "kubernetes", "kubelet": "kubernetes", "kube_proxy": "kubernetes",
	"containerd": "containerd", "etcd": "etcd",
}

// versionsOf returns the versions of the cluster, and as "COMPONENT of HOST" the versions of
// hosts that differ from it.
func versionsOf(p *project.Project) map[string]string {
	out := namedTexts(p.Cluster.Versions)
	for name, n := range p.Cluster.Nodes {
		for component, version := range namedTexts(n.Versions) {
			if version != "" && version != out[clusterVersion[component]] {
				out[component+" of "+name] = version
			}
		}
	}
	return out
}

// namedTexts returns the fields of a struct of texts by their JSON names.
func namedTexts(v any) map[string]string {
	fields, err := jsontypes.FromGo(v)
	if err != nil {
		panic(err) // the struct has other fields: a mistake of this package
	}
	out := map[string]string{}
	for name, text := range fields.(map[string]any) {
		out[name] = text.(string)
	}
	return out
}

// isVersion reports whether a setting is a version. Versions are compared after defaults
// are applied, see Site.Versions.
func isVersion(s Setting) bool {
	return s.Key == "cluster.kubernetes" || strings.HasPrefix(s.Key, "cluster.versions.") ||
		strings.Contains(s.Key, "overrides.") && strings.HasSuffix(s.Key, ".version")
}

func hostSettings(inv *inventory.Inventory, h inventory.Host) []Setting {
	out := []Setting{{Key: "address", Digest: digest(h.Address), Pos: h.Pos}}
	for _, further := range []struct{ key, address string }{{"node_address", h.NodeAddress}, {"external_address", h.ExternalAddress}} {
		if further.address != "" {
			out = append(out, Setting{further.key, digest(further.address), h.Pos})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.Vars)) {
		out = append(out, Setting{"vars." + key, digest(h.Vars[key]), inv.VarPos(h.Name, key)})
	}
	for _, s := range flattenMap(nil, h.Overrides) {
		out = append(out, Setting{"overrides." + strings.Join(s.path, "."), s.digest, orHost(inv.OverridePos(h.Name, s.path), h)})
	}
	out = slices.DeleteFunc(out, isVersion)
	for _, key := range slices.Sorted(maps.Keys(h.Labels)) {
		out = append(out, Setting{"labels." + key, digest(h.Labels[key]), h.Pos})
	}
	if len(h.Taints) > 0 {
		out = append(out, Setting{"taints", digest(h.Taints), h.Pos})
	}
	return out
}

func orHost(pos strictyaml.Pos, h inventory.Host) strictyaml.Pos {
	if pos.Line == 0 {
		return h.Pos
	}
	return pos
}

type pathValue struct {
	path   []string
	digest string
}

func flattenMap(path []string, values map[string]any) (out []pathValue) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		here := append(path[:len(path):len(path)], key)
		if nested, ok := values[key].(map[string]any); ok && len(nested) > 0 {
			out = append(out, flattenMap(here, nested)...)
			continue
		}
		out = append(out, pathValue{here, digest(values[key])})
	}
	return out
}

// flatten lists the values of a section with their places. A list is one value.
func flatten(key, file string, n *yaml.Node) []Setting {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		var v any
		if n.Decode(&v) != nil {
			v = n.Value
		}
		return []Setting{{key, digest(v), strictyaml.At(file, n)}}
	}
	var out []Setting
	for i := 0; i+1 < len(n.Content); i += 2 {
		below := flatten(key+"."+n.Content[i].Value, file, n.Content[i+1])
		for j := range below {
			if n.Content[i+1].Kind != yaml.MappingNode {
				below[j].Pos = strictyaml.At(file, n.Content[i]) // people look for the key
			}
		}
		out = append(out, below...)
	}
	return out
}

func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Append(nil, v)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
