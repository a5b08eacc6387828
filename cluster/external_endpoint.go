package cluster

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// parseExternalEndpoint splits `cluster.api.endpoint`, a name or address with or without a port, into the host as
// certificates have it and the port; 0 when there is none. It reports false for what is neither.
func parseExternalEndpoint(text string) (host string, port int, ok bool) {
	host, number, err := net.SplitHostPort(text)
	if err != nil { // without a port
		host = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	} else if port, err = strconv.Atoi(number); err != nil || port < 1 || port > 65535 {
		return "", 0, false
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String(), port, a.Zone() == ""
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host, port, isDomain(host)
}

// endpointURL returns the URL of `cluster.api.endpoint`; empty without one.
func (r *resolver) endpointURL() string {
	if r.spec.API.Endpoint == "" {
		return ""
	}
	host, port, _ := parseExternalEndpoint(r.spec.API.Endpoint) // Validate has parsed it
	if port == 0 {
		port = r.spec.API.Port
	}
	return httpsURL(host, port)
}

// checkEndpoint checks the address of the API for clients outside.
func (c *checker) checkEndpoint() {
	if text := c.spec.API.Endpoint; text != "" {
		if _, _, ok := parseExternalEndpoint(text); !ok {
			c.add("bad-endpoint", "cluster.api.endpoint", "%q is not a name or an address with or without a port: write one such as api.example.com:6443, without https://", text)
		}
	}
}
