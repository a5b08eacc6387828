package inventory

import (
	"strings"

	"deployer/strictyaml"
)

// addHosts creates a host for every name of the entries.
func (b *builder) addHosts() {
	b.inv.index = map[string]int{}
	for i, e := range b.file.Hosts {
		names, err := Expand(e.Key)
		if err != nil {
			b.errorf(e.Pos, "host %v", err)
			continue
		}
		if len(b.inv.Hosts)+len(names) > MaxHosts {
			b.errorf(e.Pos, "more than %d hosts", MaxHosts)
			return
		}
		addresses := b.addresses(e, names)
		for j, name := range names {
			b.addHost(i, name, addresses[j])
		}
	}
	if len(b.inv.Hosts) == 0 && len(b.errs) == 0 {
		b.errorf(strictyaml.Pos{File: b.inv.File}, "no hosts: add at least one under hosts")
	}
}

func (b *builder) addHost(entry int, name, address string) {
	e := b.file.Hosts[entry]
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
	b.inv.Hosts = append(b.inv.Hosts, Host{Name: name, Address: address, Pos: e.Pos})
}

// addresses returns the address of each name of an entry.
func (b *builder) addresses(e strictyaml.Entry[hostSection], names []string) []string {
	if e.Value.Address == "" {
		return names
	}
	out, err := Expand(strings.TrimSpace(e.Value.Address))
	switch {
	case err != nil:
		b.errorf(e.Pos, "address of host %v", err)
	case len(out) != len(names):
		b.errorf(e.Pos, "%s is %s, but address %s is %s; there must be one address for each host",
			e.Key, plural(len(names), "host"), e.Value.Address, plural(len(out), "address"))
	default:
		return out
	}
	return names // so that the rest of the file can be checked
}

func (b *builder) checkAddresses() {
	seen := make(map[string]int, len(b.inv.Hosts))
	for i, h := range b.inv.Hosts {
		if err := checkAddress(h.Address); err != nil {
			b.errorf(h.Pos, "host %s: %v", h.Name, err)
			continue
		}
		key := sameAddress(h.Address)
		if other, ok := seen[key]; ok {
			b.errorf(h.Pos, "host %s has the address %s of host %s on line %d",
				h.Name, h.Address, b.inv.Hosts[other].Name, b.inv.Hosts[other].Pos.Line)
			continue
		}
		seen[key] = i
	}
}
