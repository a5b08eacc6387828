package importer

import (
	"cmp"
	"fmt"
	"net"
	"slices"
)

// balancer is a load balancer of Kubespray in front of the masters: apiserver_loadbalancer_domain_name, and
// loadbalancer_apiserver with an address and a port. Each is empty when it is not set.
type balancer struct{ name, address, port string }

// balancerVars are the variables of Kubespray about a load balancer in front of the masters.
var balancerVars = []string{"apiserver_loadbalancer_domain_name", "loadbalancer_apiserver"}

// loadBalancer takes over one of balancerVars.
func (c *converter) loadBalancer(name string, v value) {
	if hasJinja(v.v) || v.v == nil || v.v == "" {
		if hasJinja(v.v) {
			c.note(v.at, describe(name, v.v), "has a Jinja template: put the name into cluster.api.endpoint")
		}
		return
	}
	m, ok := v.v.(map[string]any)
	if !ok {
		c.balancer.name = fmt.Sprint(v.v)
		return
	}
	if a := m["address"]; a != nil {
		c.balancer.address = fmt.Sprint(a)
		c.note(v.at, describe(name, v.v), "clients use it as cluster.api.endpoint; nodes reach the API through their own proxies")
	} else {
		c.note(v.at, describe(name, v.v), "has no address")
	}
	if p := m["port"]; p != nil {
		c.balancer.port = fmt.Sprint(p)
	}
}

// endpoint returns the address of the API for clients; empty without a load balancer. Kubespray uses the
// name only with one.
func (b balancer) endpoint() string {
	if b.address == "" {
		return ""
	}
	host := cmp.Or(b.name, b.address)
	if b.port == "" {
		return host
	}
	return net.JoinHostPort(host, b.port)
}

// addBalancer writes the load balancer into the section cluster. Certificates stay valid for both its name
// and its address, as Kubespray's are.
func (c *converter) addBalancer() {
	if e := c.balancer.endpoint(); e != "" {
		c.cluster.setPath([]string{"api", "endpoint"}, e)
	}
	var sans []any
	if i := c.cluster.find("api"); i >= 0 {
		api := mapping{node: *c.cluster.node.Content[i+1]}
		if j := api.find("sans"); j >= 0 && api.node.Content[j+1].Decode(&sans) != nil {
			return // not a list, which `deployer validate` reports
		}
	}
	given := len(sans)
	for _, san := range []string{c.balancer.name, c.balancer.address} {
		if san != "" && !slices.Contains(sans, any(san)) {
			sans = append(sans, san)
		}
	}
	if len(sans) > given {
		c.cluster.setPath([]string{"api", "sans"}, sans)
	}
}
