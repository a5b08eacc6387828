package inventory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// network is a range of addresses, or one of IPv4 and one of IPv6, separated by a comma.
type network string

// UnmarshalYAML decodes ranges whose address is their first one.
func (w *network) UnmarshalYAML(n *yaml.Node) error {
	var all []string
	families := map[bool]bool{}
	for text := range strings.SplitSeq(n.Value, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		switch {
		case n.Kind != yaml.ScalarNode || err != nil:
			return fmt.Errorf("want a network such as 10.0.0.0/8, got %q", n.Value)
		case p != p.Masked():
			return fmt.Errorf("%s is not the first address of its network; write %s", p, p.Masked())
		case families[p.Addr().Is4()]:
			return fmt.Errorf("%s has two networks of one family; write one network, or one of IPv4 and one of IPv6", n.Value)
		}
		families[p.Addr().Is4()] = true
		all = append(all, p.String())
	}
	*w = network(strings.Join(all, ","))
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (network) YAMLSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": "^[0-9a-fA-F.:]+/[0-9]+( *, *[0-9a-fA-F.:]+/[0-9]+)?$"}
}

// networkInterface is the name of a network interface of Linux.
type networkInterface string

var interfaceShape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$`)

// UnmarshalYAML decodes the name.
func (i *networkInterface) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !interfaceShape.MatchString(n.Value) {
		return fmt.Errorf("want the name of a network interface such as eth1, got %q", n.Value)
	}
	*i = networkInterface(n.Value)
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (networkInterface) YAMLSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": interfaceShape.String()}
}

// NodeAddressChoice selects the node address of a host among the addresses that the host has.
type NodeAddressChoice struct {
	Network   string // range of the address, or one of each family, separated by a comma; empty for any
	Interface string // interface of the address; empty for any
}

// IsZero reports whether nothing is to be selected.
func (c NodeAddressChoice) IsZero() bool { return c == NodeAddressChoice{} }

// String names the settings, for messages.
func (c NodeAddressChoice) String() string {
	var parts []string
	if c.Network != "" {
		parts = append(parts, "node_network "+c.Network)
	}
	if c.Interface != "" {
		parts = append(parts, "node_interface "+c.Interface)
	}
	return strings.Join(parts, " and ")
}

// Networks returns the ranges of the addresses that are selected, one for each address. An invalid
// one stands for any.
func (c NodeAddressChoice) Networks() []netip.Prefix {
	var out []netip.Prefix
	for text := range strings.SplitSeq(c.Network, ",") {
		p, _ := netip.ParsePrefix(text) // the inventory has checked it
		out = append(out, p)
	}
	return out
}

// Contains reports whether addresses are in the networks of the choice, one in each, in their order.
func (c NodeAddressChoice) Contains(addresses ...netip.Addr) bool {
	networks := c.Networks()
	for i, p := range networks {
		if p.IsValid() && (i >= len(addresses) || !p.Contains(addresses[i])) {
			return false
		}
	}
	return len(addresses) == len(networks)
}

// NodeAddressesFile returns the path of the file beside an inventory that has the chosen node
// addresses of its hosts: inventory.addresses.yaml for inventory.yaml.
func NodeAddressesFile(inventory string) string {
	return strings.TrimSuffix(inventory, filepath.Ext(inventory)) + ".addresses.yaml"
}

// nodeAddressesHeader begins the file.
const nodeAddressesHeader = `# Written by deployer inventory addresses: the node addresses of the hosts that have a node_network
# or node_interface. To choose one again, remove its line and run the command again.
`

// FormatNodeAddresses returns the content of the file of the node addresses by host. Hosts come in
// the given order.
func FormatNodeAddresses(hosts []string, addresses map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString(nodeAddressesHeader)
	for _, h := range hosts {
		if a, ok := addresses[h]; ok {
			fmt.Fprintf(&b, "%s: %q\n", h, a)
		}
	}
	return b.Bytes()
}

// WithoutNodeAddress lists the hosts with a role whose node address is to be chosen and not recorded.
func (inv *Inventory) WithoutNodeAddress() []string {
	var out []string
	for _, h := range inv.Hosts {
		if len(h.Roles) > 0 && h.NodeAddress == "" && !h.NodeAddressChoice.IsZero() {
			out = append(out, h.Name)
		}
	}
	return out
}

// chooseNodeAddresses gives the hosts that have a NodeAddressChoice and no node address the one of the
// file. An SSH address in the network needs no choice. A host without an address in the file stays
// without one; the file may have more hosts.
func (b *builder) chooseNodeAddresses() {
	var waiting []int
	for i, h := range b.inv.Hosts {
		switch a, err := netip.ParseAddr(h.Address); {
		case h.NodeAddress != "" || h.NodeAddressChoice.IsZero():
		case err == nil && h.NodeAddressChoice.Interface == "" && h.NodeAddressChoice.Contains(a.Unmap()):
			b.inv.Hosts[i].NodeAddress = a.Unmap().String()
		default:
			waiting = append(waiting, i)
		}
	}
	if len(waiting) == 0 {
		return
	}
	file := NodeAddressesFile(b.inv.File)
	chosen, ok := b.readNodeAddresses(file)
	if !ok {
		return
	}
	byHost := make(map[string]strictyaml.Entry[string], len(chosen))
	for _, e := range chosen {
		byHost[e.Key] = e
	}
	for _, i := range waiting {
		h := &b.inv.Hosts[i]
		e, ok := byHost[h.Name]
		if !ok {
			continue
		}
		all, err := parseAddresses(e.Value)
		switch {
		case err != nil:
			b.errorf(e.Pos, "%q of host %s is not an IP address; remove the line and run deployer inventory addresses", e.Value, h.Name)
		case len(all) < len(h.NodeAddressChoice.Networks()):
			continue // node_network has got a second network since; the addresses are chosen again
		case !h.NodeAddressChoice.Contains(all...):
			b.errorf(e.Pos, "the node address %s of host %s is not in its node_network %s; correct the network, or remove the line and run deployer inventory addresses", e.Value, h.Name, h.NodeAddressChoice.Network)
		default:
			h.NodeAddress, h.NodeAddressRecorded = JoinAddresses(all), true
		}
	}
}

// parseAddresses parses addresses that are separated by commas.
func parseAddresses(text string) ([]netip.Addr, error) {
	var out []netip.Addr
	for part := range strings.SplitSeq(text, ",") {
		a, err := netip.ParseAddr(part)
		if err != nil {
			return nil, err
		}
		out = append(out, a.Unmap())
	}
	return out, nil
}

// JoinAddresses returns addresses as node_address has them: separated by commas.
func JoinAddresses(addresses []netip.Addr) string {
	var out []string
	for _, a := range addresses {
		out = append(out, a.String())
	}
	return strings.Join(out, ",")
}

// readNodeAddresses reads the file of chosen node addresses; ok is false without a usable one.
func (b *builder) readNodeAddresses(file string) (chosen strictyaml.Map[string], ok bool) {
	data, err := b.read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil {
		b.errorf(strictyaml.Pos{File: file}, "reading the node addresses: %v", err)
		return nil, false
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		b.errorf(strictyaml.Pos{File: file}, "not YAML: %v", err)
		return nil, false
	}
	if len(root.Content) == 0 {
		return nil, false
	}
	if err := strictyaml.DecodeAs(file, "node addresses", root.Content[0], &chosen); err != nil {
		b.err(err)
		return nil, false
	}
	return chosen, true
}
