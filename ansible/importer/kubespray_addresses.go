package importer

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
)

// nodeAddresses moves Kubespray's ip, ip6 and access_ip of a host to its keys node_address and
// external_address. address is that of its SSH server; empty when it is the host's name. Kubespray's
// components listen at ip, and hosts reach each other at access_ip; here they do both at the
// node's address.
func (c *converter) nodeAddresses(vs vars, address string, into *mapping) {
	if !c.kubespray {
		return
	}
	c.nodeInterface(vs, into)
	ip, access, at := c.kubesprayAddress(vs, "ip"), c.kubesprayAddress(vs, "access_ip"), vs["access_ip"].at
	ip6 := c.kubesprayAddress(vs, "ip6")
	for _, name := range []string{"ip", "ip6", "access_ip", "etcd_member_name"} { // members are named after their hosts
		delete(vs, name)
	}
	node := cmp.Or(ip, address)
	if _, err := netip.ParseAddr(node); err != nil && access != "" {
		ip, node = access, access // no other address is known
	}
	switch {
	case ip6 != "":
		into.set("node_address", c.bothAddresses(node, ip6))
	case ip != "" && ip != address:
		into.set("node_address", ip)
	}
	if access != "" && access != node {
		into.set("external_address", access)
		c.note(at, "access_ip="+access, "is external_address here, for clients outside of the cluster; the hosts of the cluster reach each other at "+node)
	}
}

// quotedKey matches a quoted key of Jinja, as in ansible_facts['eth1'].
var quotedKey = regexp.MustCompile(`\[\s*['"]([^'"]+)['"]\s*\]`)

// interfaceAddress matches the address of a network interface among Ansible's facts, without quoted keys.
var interfaceAddress = regexp.MustCompile(`^\{\{\s*(?:hostvars\[inventory_hostname\]\.)?(?:ansible_facts\.|ansible_)(\w+)\.ipv4\.address\s*\}\}$`)

// nodeInterface moves an ip that is the address of a network interface to the key node_interface.
func (c *converter) nodeInterface(vs vars, into *mapping) {
	v, ok := vs["ip"]
	if !c.kubespray || !ok {
		return
	}
	text := fmt.Sprint(v.v)
	m := interfaceAddress.FindStringSubmatch(quotedKey.ReplaceAllString(text, ".$1"))
	if m == nil {
		return
	}
	delete(vs, "ip")
	into.set("node_interface", m[1])
	c.note(v.at, "ip: "+text, "is node_interface "+m[1]+" here: deployer inventory addresses looks once, and records the addresses")
}

// kubesprayAddress returns a variable with an address; empty when it is unset or has a template.
func (c *converter) kubesprayAddress(vs vars, name string) string {
	v, ok := vs[name]
	if !ok || v.v == nil {
		return ""
	}
	text := fmt.Sprint(v.v)
	if hasJinja(text) {
		c.note(v.at, name+": "+text, "has a Jinja template")
		return ""
	}
	return text
}
