package cluster_test

import (
	"slices"
	"testing"

	"deployer/cluster"
)

func TestExternalEndpoint(t *testing.T) {
	for _, c := range []struct{ endpoint, virtual, url, san string }{
		{"api.example.com", "", "https://api.example.com:6443", "api.example.com"},
		{"API.Example.com.:443", "", "https://api.example.com:443", "api.example.com"},
		{"203.0.113.7:8443", "", "https://203.0.113.7:8443", "203.0.113.7"},
		{"2001:db8::7", "", "https://[2001:db8::7]:6443", "2001:db8::7"},
		{"[2001:DB8::7]:443", "", "https://[2001:db8::7]:443", "2001:db8::7"},
		{"[2001:db8::7]", "", "https://[2001:db8::7]:6443", "2001:db8::7"},
		{"api.example.com", "10.0.0.100", "https://api.example.com:6443", "api.example.com"},
		{"", "10.0.0.100", "https://10.0.0.100:6443", "10.0.0.100"},
	} {
		t.Run(c.endpoint, func(t *testing.T) {
			spec := cluster.Spec{API: cluster.APISpec{Endpoint: c.endpoint, VirtualIP: cluster.VirtualIPSpec{Address: c.virtual}}}
			got := mustResolve(t, spec, fleet(masters(3)))
			if got.API.External != c.url {
				t.Errorf("External = %s, want %s", got.API.External, c.url)
			}
			for name, node := range got.Nodes {
				for _, certificate := range node.Certificates {
					if certificate.Name == "apiserver" && !slices.Contains(append(certificate.DNS, certificate.IPs...), c.san) {
						t.Errorf("the API server of %s has no %s in %v %v", name, c.san, certificate.DNS, certificate.IPs)
					}
				}
			}
		})
	}
}
