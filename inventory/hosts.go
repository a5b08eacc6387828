package inventory

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	"deployer/strictyaml"
)

// addHosts creates a host for every name of the entries.
func (b *builder) addHosts() {
	b.inv.index = map[string]int{}
	for i, e := range b.file.Hosts {
		b.checkTaints(e.Pos, e.Value.Taints)
		names, err := Expand(e.Key)
		if err != nil {
			b.errorf(e.Pos, "host %v", err)
			continue
		}
		if len(b.inv.Hosts)+len(names) > MaxHosts {
			b.errorf(e.Pos, "more than %d hosts", MaxHosts)
			return
		}
		addresses, nodes, external := b.addresses(e, "address", e.Value.Address, names),
			b.addresses(e, "node_address", e.Value.NodeAddress, names), b.addresses(e, "external_address", e.Value.ExternalAddress, names)
		for j, name := range names {
			address, port := b.splitPort(e, name, cmp.Or(addresses[j], name))
			b.addHost(i, Host{Name: name, Address: address, NodeAddress: nodes[j], ExternalAddress: external[j], Pos: e.Pos}, port)
		}
	}
	if len(b.inv.Hosts) == 0 && len(b.errs) == 0 {
		b.errorf(strictyaml.Pos{File: b.inv.File}, "no hosts: add at least one under hosts")
	}
}

// addHost adds a host of an entry. port is the one that its address has; 0 for none.
func (b *builder) addHost(entry int, h Host, port int) {
	e, name := b.file.Hosts[entry], h.Name
	if err := checkHostName(name); err != nil {
		b.errorf(e.Pos, "%v", err)
		return
	}
	if other, ok := b.inv.index[name]; ok {
		b.errorf(e.Pos, "host %s is defined already, on line %d; to give one host of a range its own settings, make a group of it",
			name, b.inv.Hosts[other].Pos.Line)
		return
	}
	b.inv.index[name] = len(b.inv.Hosts)
	b.entry = append(b.entry, entry)
	b.inv.Hosts = append(b.inv.Hosts, h)
	b.inv.ports = append(b.inv.ports, port)
}

// splitPort splits an address as ADDRESS:PORT, in which many hosts behind one address can have a range
// of ports. An IPv6 address has no port here.
func (b *builder) splitPort(e strictyaml.Entry[hostSection], name, text string) (address string, port int) {
	address, digits, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(digits, ":") {
		return text, 0
	}
	port, err := strconv.Atoi(digits)
	switch {
	case err != nil || port < 1 || port > 65535:
		b.errorf(e.Pos, "host %s: port %q of address %s is not from 1 to 65535", name, digits, address)
	case e.Value.SSH.Node != nil && valueOf(e.Value.SSH.Node, "port") != nil:
		b.errorf(e.Pos, "host %s has the port %d in its address, and ssh.port, too; keep one", name, port)
	}
	return address, port
}

// addresses returns the address of each name of an entry that a key gives; empty ones without the
// key.
func (b *builder) addresses(e strictyaml.Entry[hostSection], key, text string, names []string) []string {
	none := make([]string, len(names)) // also after an error, so that the rest of the file can be checked
	if text == "" {
		return none
	}
	out, err := expandList(text)
	switch {
	case err != nil:
		b.errorf(e.Pos, "%s of host %v", key, err)
	case len(out) != len(names):
		b.errorf(e.Pos, "%s is %s, but %s %s is %s; there must be one address for each host",
			e.Key, plural(len(names), "host"), key, text, plural(len(out), "address"))
	default:
		return out
	}
	return none
}

// expandList expands an address, or several that are separated by commas. Several stand for a list
// of one of each for each host.
func expandList(text string) ([]string, error) {
	var out []string
	for i, part := range strings.Split(text, ",") {
		all, err := Expand(strings.TrimSpace(part))
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			out = all
			continue
		case len(all) != len(out):
			return nil, fmt.Errorf("%s has %s, and %s before the comma", strings.TrimSpace(part), plural(len(all), "address"), plural(len(out), "address"))
		}
		for j, address := range all {
			out[j] += "," + address
		}
	}
	return out, nil
}

// checkAddresses checks the addresses of the merged hosts. Several hosts may be behind one
// address, as virtual machines and hosts behind NAT are, on a port each.
func (b *builder) checkAddresses() {
	seen := make(map[string]int, len(b.inv.Hosts))
	for i, h := range b.inv.Hosts {
		if err := checkNodeAddress(h.NodeAddress); h.NodeAddress != "" && err != nil {
			b.errorf(h.Pos, "host %s: %v", h.Name, err)
		}
		if err := checkAddress("external_address", h.ExternalAddress); h.ExternalAddress != "" && err != nil {
			b.errorf(h.Pos, "host %s: %v", h.Name, err)
		}
		if err := checkAddress("address", h.Address); err != nil {
			b.errorf(h.Pos, "host %s: %v", h.Name, err)
			continue
		}
		key := net.JoinHostPort(sameAddress(h.Address), strconv.Itoa(cmp.Or(h.SSH.Port, defaultPort)))
		if other, ok := seen[key]; ok {
			b.errorf(h.Pos, "host %s has the address %s of host %s on line %d; hosts behind one address need a port each: write address: ADDRESS:PORT, or ssh: {port: ...}",
				h.Name, h.Address, b.inv.Hosts[other].Name, b.inv.Hosts[other].Pos.Line)
			continue
		}
		seen[key] = i
	}
}

// defaultPort is the port of SSH servers.
const defaultPort = 22
