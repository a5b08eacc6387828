package cluster

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// maxForwardServers is the number of servers that CoreDNS takes for one domain
// (coredns plugin/forward/setup.go, max).
const maxForwardServers = 15

// checkDNS checks the settings of cluster DNS.
func (c *checker) checkDNS() {
	d := c.spec.DNS
	if !isDomain(d.Domain) {
		c.add("bad-domain", "cluster.dns.domain", "%q is not a domain such as cluster.local", d.Domain)
	}
	for i, former := range d.FormerDomains {
		switch {
		case !isDomain(former):
			c.add("bad-domain", "cluster.dns.former_domains", "%q is not a domain such as cluster.local", former)
		case former == d.Domain || slices.Contains(d.FormerDomains[:i], former):
			c.add("duplicate-domain", "cluster.dns.former_domains", "%s is the present domain or named twice: take it out", former)
		}
	}
	c.checkServers("cluster.dns.upstreams", d.Upstreams)
	c.checkStubDomains()
	for _, name := range slices.Sorted(maps.Keys(d.Hosts)) {
		if !isDomain(name) {
			c.add("bad-dns-host", "cluster.dns.hosts", "%q is not a name such as registry.corp.example", name)
		}
		if len(d.Hosts[name]) == 0 {
			c.add("bad-dns-host", "cluster.dns.hosts", "%s has no address", name)
		}
		for _, a := range d.Hosts[name] {
			if ip, err := netip.ParseAddr(a); err != nil || ip.Zone() != "" {
				c.add("bad-dns-host", "cluster.dns.hosts", "%q of %s is not an IP address", a, name)
			}
		}
	}
	for _, rewrite := range d.Rewrites {
		c.checkRewrite(rewrite)
	}
	c.checkCorefile("cluster.dns.extra_plugins", d.ExtraPlugins, false)
	c.checkCorefile("cluster.dns.extra_servers", d.ExtraServers, true)
	c.checkNodeDNS()
	if d.MemoryLimit > 0 && d.MemoryRequest > d.MemoryLimit {
		c.add("bad-resources", "cluster.dns.memory_request_mib", "%d is more than memory_limit_mib, %d", d.MemoryRequest, d.MemoryLimit)
	}
}

// checkServers checks addresses of DNS servers.
func (c *checker) checkServers(key string, servers []string) {
	if len(servers) > maxForwardServers {
		c.add("bad-upstream", key, "%d servers are more than CoreDNS asks: name at most %d", len(servers), maxForwardServers)
	}
	for _, u := range servers {
		if _, err := netip.ParseAddr(u); err != nil {
			if _, err := netip.ParseAddrPort(u); err != nil {
				c.add("bad-upstream", key, "%q is not the address of a DNS server, such as 10.0.0.2 or 10.0.0.2:53", u)
			}
		}
	}
}

func (c *checker) checkStubDomains() {
	const key = "cluster.dns.stub_domains"
	d := c.spec.DNS
	for _, domain := range slices.Sorted(maps.Keys(d.StubDomains)) {
		servers := d.StubDomains[domain]
		switch {
		case !isDomain(domain):
			c.add("bad-stub-domain", key, "%q is not a domain such as corp.example or 10.in-addr.arpa", domain)
		case len(servers) == 0:
			c.add("bad-stub-domain", key, "%s has no server", domain)
		}
		for _, own := range append([]string{d.Domain}, d.FormerDomains...) {
			if domain == own || strings.HasSuffix(domain, "."+own) {
				c.add("bad-stub-domain", key, "%s is in the domain of the cluster, %s, whose names CoreDNS answers itself", domain, own)
			}
		}
		c.checkServers(key+"."+domain, servers)
	}
}

func (c *checker) checkRewrite(r DNSRewrite) {
	const key = "cluster.dns.rewrites"
	c.oneOf("unknown-match", key, r.Match, rewriteExact, rewriteSuffix, rewritePrefix, rewriteSubstring, rewriteRegex)
	for _, text := range []string{r.From, r.To} {
		if words := corefileWords(text); len(words) != 1 || words[0] != text || text == "{" || text == "}" {
			c.add("bad-rewrite", key, "%q is not one word of a Corefile: leave out blanks, quotes and comments", text)
			return
		}
	}
	switch {
	case r.From == r.To:
		c.add("bad-rewrite", key, "%s is rewritten to itself", r.From)
	case r.Match == rewriteExact && (!isDomain(strings.TrimSuffix(r.From, ".")) || !isDomain(strings.TrimSuffix(r.To, "."))):
		c.add("bad-rewrite", key, "%q and %q must be names, such as api.example.com; with match: suffix parts of names are replaced", r.From, r.To)
	case r.Match == rewriteRegex:
		if _, err := regexp.Compile(r.From); err != nil {
			c.add("bad-rewrite", key, "%q is not a regular expression: %v", r.From, err)
		}
	}
}

// checkCorefile checks that text, which becomes part of a Corefile, ends each block that it begins,
// and no other one. CoreDNS itself checks the rest, in a pod of its own (action corefile_check).
func (c *checker) checkCorefile(key, text string, servers bool) {
	depth := 0
	for number, line := range strings.Split(text, "\n") {
		words := corefileWords(line)
		if servers && depth == 0 && len(words) > 0 && words[len(words)-1] != "{" {
			c.add("bad-corefile", key, "line %d, %q, is outside of a server: write DOMAIN:53 { and } around it", number+1, line)
			return
		}
		for _, word := range words {
			switch word {
			case "{":
				depth++
			case "}":
				depth--
			}
			if depth < 0 {
				c.add("bad-corefile", key, "line %d has a } without a {", number+1)
				return
			}
		}
	}
	if depth > 0 {
		c.add("bad-corefile", key, "%d { have no }", depth)
	}
}

// corefileWords returns the words of a line of a Corefile without its comment; quotes hold a word together
// and are not part of it (coredns/caddy, caddyfile/lexer.go).
func corefileWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted, inWord := false, false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range line {
		switch {
		case r == '"':
			quoted, inWord = !quoted, true
		case quoted:
			word.WriteRune(r)
		case r == '#' && !inWord:
			return words
		case r == ' ' || r == '\t' || r == '\r' || r == '\n':
			end()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	return words
}
