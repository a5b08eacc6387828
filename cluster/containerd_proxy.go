package cluster

import (
	"net/url"
	"slices"
	"strings"
)

// ContainerdProxy is the proxy by which containerd reaches registries that nodes
// cannot reach directly.
type ContainerdProxy struct {
	HTTP    string `json:"http"`     // URL; empty for none
	HTTPS   string `json:"https"`    // URL; empty for none
	NoProxy string `json:"no_proxy"` // comma-separated; empty without a proxy
}

// Used reports whether there is a proxy.
func (p ContainerdProxy) Used() bool { return p.HTTP != "" || p.HTTPS != "" }

// containerdEnv is the file of containerd's environment, below dirDeployer.
const containerdEnv = "containerd.env"

// containerdProxy returns the proxies of containerd.
func (r *resolver) containerdProxy() ContainerdProxy {
	s := r.spec.Containerd
	p := ContainerdProxy{HTTP: s.HTTPProxy, HTTPS: s.HTTPSProxy}
	if !p.Used() {
		return ContainerdProxy{}
	}
	direct := s.NoProxy
	if len(direct) == 0 {
		direct = slices.Concat([]string{"localhost", "127.0.0.0/8", "::1"}, SplitList(r.spec.PodCIDR), SplitList(r.spec.ServiceCIDR), hostNetworks(r.hosts))
		direct = append(direct, ".svc")
		for _, domain := range append([]string{r.spec.DNS.Domain}, r.spec.DNS.FormerDomains...) {
			direct = append(direct, "."+domain)
		}
	}
	p.NoProxy = strings.Join(direct, ",")
	return p
}

// hostNetworks returns the networks of hosts in the order of their first host: /24, for IPv6
// /64. Single addresses would change with every host that joins, and each change restarts
// containerd on all nodes.
func hostNetworks(hosts []Host) []string {
	var out []string
	for _, h := range hosts {
		for _, addr := range h.ips() { // none of a name
			bits := 24
			if addr.Is6() {
				bits = 64
			}
			prefix, err := addr.WithZone("").Prefix(bits)
			if err == nil && !slices.Contains(out, prefix.String()) {
				out = append(out, prefix.String())
			}
		}
	}
	return out
}

// checkContainerdProxy checks the proxies of containerd.
func (c *checker) checkContainerdProxy() {
	s := c.spec.Containerd
	for _, p := range containerdProxies(s) {
		u, err := url.Parse(p.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || !plainWord(p.url) {
			c.add("bad-proxy", p.key, "it is not a proxy such as http://proxy.example:3128")
		}
	}
	for _, entry := range s.NoProxy {
		if entry == "" || strings.Contains(entry, ",") || !plainWord(entry) {
			c.add("bad-proxy", "cluster.containerd.no_proxy", "%q is not a name, an address or a range such as .example, 10.0.0.5 or 10.0.0.0/8", entry)
		}
	}
	if len(s.NoProxy) > 0 && len(containerdProxies(s)) == 0 {
		c.add("bad-proxy", "cluster.containerd.no_proxy", "there is no proxy: set http_proxy or https_proxy too")
	}
}

// proxySetting is a proxy of the inventory.
type proxySetting struct{ key, url string }

// containerdProxies returns the proxies that are set.
func containerdProxies(s ContainerdSpec) []proxySetting {
	all := []proxySetting{{"cluster.containerd.http_proxy", s.HTTPProxy}, {"cluster.containerd.https_proxy", s.HTTPSProxy}}
	return slices.DeleteFunc(all, func(p proxySetting) bool { return p.url == "" })
}

// plainWord reports whether a text means the same within double quotes of a file of
// EnvironmentFile (systemd.exec(5)).
func plainWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '$' || r == '`' })
}

// plainProxyPasswords returns a problem for each proxy with a password that is not marked as
// secret.
func plainProxyPasswords(c *Cluster, isSecret func(string) bool) Problems {
	var out Problems
	for _, p := range containerdProxies(ContainerdSpec{HTTPProxy: c.Containerd.Proxy.HTTP, HTTPSProxy: c.Containerd.Proxy.HTTPS}) {
		if u, err := url.Parse(p.url); err == nil && u.User != nil && !isSecret(p.url) {
			out = append(out, Problem{Code: "plain-secret", Subject: p.key,
				Message: "the user and password in it would be visible in output: write !env NAME, which reads the URL from an environment variable, or !secret URL"})
		}
	}
	return out
}
