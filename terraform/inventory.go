package terraform

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Result is an inventory.
type Result struct {
	Text  []byte   // YAML, with the notes as comments behind it
	Notes []string // what was not taken over, or needs a look
	Hosts int
}

// document is the inventory.
type document struct {
	Cluster map[string]any `yaml:"cluster,omitempty"`
	Hosts   yaml.Node      `yaml:"hosts"`
	Roles   roles          `yaml:"roles"`
}

type roles struct {
	Master []string `yaml:"master,flow"`
	Minion []string `yaml:"minion,flow,omitempty"`
}

type host struct {
	Address  string            `yaml:"address"`
	Node     string            `yaml:"node_address,omitempty"`
	External string            `yaml:"external_address,omitempty"`
	SSH      ssh               `yaml:"ssh,omitempty,flow"`
	Labels   map[string]string `yaml:"labels,omitempty,flow"`
}

type ssh struct {
	User    string `yaml:"user,omitempty"`
	Become  string `yaml:"become,omitempty"`
	Port    int    `yaml:"port,omitempty"`
	Key     string `yaml:"key,omitempty"`
	Bastion []hop  `yaml:"bastion,omitempty,flow"`
}

type hop struct {
	Address string `yaml:"address"`
	User    string `yaml:"user,omitempty"`
	Port    int    `yaml:"port,omitempty"`
}

// Convert makes an inventory of what terraform output -json has printed. name is that of the file, for
// errors. Masters and static workers become hosts; workers that machine-controller makes do not.
func Convert(name string, text []byte) (*Result, error) {
	o, err := read(name, text)
	if err != nil {
		return nil, err
	}
	c := &converter{output: o, document: document{Cluster: map[string]any{}}, taken: map[string]bool{}}
	c.Hosts.Kind = yaml.MappingNode
	if err := c.convert(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(c.document); err != nil {
		return nil, fmt.Errorf("writing the inventory: %w", err)
	}
	if len(c.notes) > 0 {
		b.WriteString("\n# Not taken over as it was:\n")
	}
	for _, n := range c.notes {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(n, "\n", " "))
	}
	return &Result{Text: b.Bytes(), Notes: c.notes, Hosts: len(c.taken)}, nil
}

type converter struct {
	*output
	document
	notes []string
	taken map[string]bool // names of hosts
	ipv6  bool            // a host has an address of both families
}

func (c *converter) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *converter) convert() error {
	prefix := cmp.Or(c.controlPlane.ClusterName, "cluster")
	masters, err := c.add(outputHosts+".control_plane", prefix+"-control-plane", c.controlPlane.hostSet)
	if err != nil {
		return err
	}
	c.Roles.Master = masters
	if len(masters)%2 == 0 {
		c.note("%d masters: an odd number survives as many failures with fewer", len(masters))
	}
	for _, set := range slices.Sorted(maps.Keys(c.workers)) {
		hosts, err := c.add(outputStaticWorkers+"."+set, prefix+"-"+set, c.workers[set])
		if err != nil {
			return err
		}
		c.Roles.Minion = append(c.Roles.Minion, hosts...)
	}
	c.cluster()
	for _, set := range c.machines {
		c.note("%s.%s: machine-controller makes these machines, and they join by themselves; list them in cluster.unmanaged_nodes, or make hosts of them", outputWorkers, set)
	}
	if c.controlPlane.CloudProvider != "" && c.controlPlane.CloudProvider != "none" {
		c.note("cloud_provider %s: install its cloud controller manager as an add-on, and give kubelets --cloud-provider=external in cluster.overrides", c.controlPlane.CloudProvider)
	}
	for _, path := range c.unknown {
		c.note("%s: no equivalent", path)
	}
	return nil
}

// cluster takes over the settings of the whole cluster.
func (c *converter) cluster() {
	if c.ipv6 {
		c.note("ipv6_addresses: nodes have both addresses; pod_cidr and service_cidr need a range of each family")
	}
	if c.controlPlane.ClusterName != "" {
		c.Cluster["name"] = c.controlPlane.ClusterName
	}
	api := map[string]any{}
	if c.api.Endpoint != "" {
		api["endpoint"] = c.api.Endpoint
		c.note("%s.endpoint %s: deployer kubeconfig names it; nodes reach the API through a proxy of their own", outputAPI, c.api.Endpoint)
	}
	if len(c.api.Names) > 0 {
		api["sans"] = c.api.Names
	}
	if len(api) > 0 {
		c.Cluster["api"] = api
	}
	if c.controlPlane.Untaint && len(c.Roles.Minion) > 0 {
		c.Cluster["schedulable_masters"] = true
	}
	if n := c.controlPlane.Kubelet.MaxPods; n != 0 {
		c.Cluster["kubelet"] = map[string]any{"max_pods": n}
	}
	proxy := map[string]any{}
	for key, value := range map[string]string{"http_proxy": c.proxy.HTTP, "https_proxy": c.proxy.HTTPS} {
		if value != "" {
			proxy[key] = value
		}
	}
	if c.proxy.NoProxy != "" {
		proxy["no_proxy"] = strings.FieldsFunc(c.proxy.NoProxy, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(proxy) > 0 {
		c.Cluster["containerd"] = proxy
		c.note("proxy: it is that of containerd; the controller has its own in its environment")
	}
}

// add adds the hosts of a set, and returns their names. Those without a name are numbered behind prefix.
func (c *converter) add(path, prefix string, set hostSet) (names []string, err error) {
	number := max(len(set.Public), len(set.Private))
	if number == 0 {
		return nil, fmt.Errorf("output %s has neither public_address nor private_address, so no hosts", path)
	}
	for _, list := range []struct {
		key    string
		length int
	}{{"public_address", len(set.Public)}, {"private_address", len(set.Private)}, {"hostnames", len(set.Hostnames)}} {
		if list.length != 0 && list.length != number {
			return nil, fmt.Errorf("output %s has %d of %s, and %d hosts: each host needs one", path, list.length, list.key, number)
		}
	}
	if n := set.Kubelet.MaxPods; n != 0 && n != c.controlPlane.Kubelet.MaxPods {
		c.note("%s.kubelet.max_pods %d: set it with overrides of a group", path, n)
	}
	for i := range number {
		name := fmt.Sprintf("%s-%d", prefix, i+1)
		if len(set.Hostnames) > 0 && set.Hostnames[i] != "" {
			name = set.Hostnames[i]
		}
		if name = strings.ToLower(name); c.taken[name] {
			return nil, fmt.Errorf("output %s has a second host %s", path, name)
		}
		c.taken[name] = true
		c.ipv6 = c.ipv6 || i < len(set.IPv6) && len(set.IPv6[i]) > 0
		if err := c.put(name, set.host(i)); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (c *converter) put(name string, h host) error {
	var key, value yaml.Node
	key.SetString(name)
	if err := value.Encode(h); err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	c.Hosts.Content = append(c.Hosts.Content, &key, &value)
	return nil
}

// host returns the settings of a host. Like KubeOne, SSH goes to the public address, or behind a bastion to the
// private one; the node has the private one.
func (s hostSet) host(i int) host {
	at := func(list []string) string {
		if i < len(list) {
			return list[i]
		}
		return ""
	}
	public, private := at(s.Public), at(s.Private)
	private = cmp.Or(private, public)
	h := host{Address: cmp.Or(public, private), Labels: s.Labels}
	if s.Bastion != "" {
		h.Address = private
		h.SSH.Bastion = []hop{{Address: s.Bastion, User: s.BastionBy, Port: portUnlessDefault(s.BastionAt)}}
	}
	node := private
	if i < len(s.IPv6) && len(s.IPv6[i]) > 0 {
		node += "," + s.IPv6[i][0]
	}
	if node != h.Address {
		h.Node = node
	}
	if public != "" && public != private {
		h.External = public
	}
	h.SSH.User, h.SSH.Port, h.SSH.Key = s.User, portUnlessDefault(s.Port), s.Key
	if s.User != "" && s.User != "root" {
		h.SSH.Become = "sudo"
	}
	return h
}

// portUnlessDefault returns a port of SSH; 0 for its default.
func portUnlessDefault(port int) int {
	if port == 22 {
		return 0
	}
	return port
}
