package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// sampleCA is a certificate that signs itself.
const sampleCA = `-----BEGIN CERTIFICATE-----
MIIBXzCCARGgAwIBAgIUBzfntBTTkfKRydzQGXV9//emE70wBQYDK2VwMCQxIjAg
BgNVBAMMGXNhbXBsZSByZWdpc3RyeSBhdXRob3JpdHkwIBcNMjYxMTIxMjI0MTE5
WhgPMjEyNjEwMjgyMjQxMTlaMCQxIjAgBgNVBAMMGXNhbXBsZSByZWdpc3RyeSBh
dXRob3JpdHkwKjAFBgMrZXADIQCgnONc/BihvZtEBGnJWLZhpIdmZagd3RsifFPt
Ccq+76NTMFEwHQYDVR0OBBYEFDZa/88VAoBXFNv0TFgpmUZNiflGMB8GA1UdIwQY
MBaAFDZa/88VAoBXFNv0TFgpmUZNiflGMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2Vw
A0EA2lZfBc8RKSmUrbPCCDeLrAY9URz0AIqKOL9PXiqypvLraIpljAntt5zVKzvz
2WA368YVh0J1o+UOVpzXFOPzAA==
-----END CERTIFICATE-----
`

func TestRegistries(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, cluster.Spec{Containerd: cluster.ContainerdSpec{
		Mirrors: map[string][]string{
			"docker.io":       {"https://mirror.example:5000", "http://mirror.example:5000"},
			"registry.k8s.io": {"https://other.example"},
		},
		Authorities: map[string]string{"mirror.example:5000": sampleCA, "own.example": "\n" + sampleCA + "\n" + sampleCA},
	}}, fleet(masters(1)))
	ca := "/etc/containerd/ca/mirror.example:5000.crt"
	want := []cluster.Registry{
		{Name: "docker.io", Server: "https://registry-1.docker.io", Mirrors: []cluster.RegistryMirror{
			{URL: "https://mirror.example:5000", CA: ca}, {URL: "http://mirror.example:5000"},
		}},
		{Name: "mirror.example:5000", Server: "https://mirror.example:5000", CA: ca, Mirrors: []cluster.RegistryMirror{}},
		{Name: "own.example", Server: "https://own.example", CA: "/etc/containerd/ca/own.example.crt", Mirrors: []cluster.RegistryMirror{}},
		{Name: "registry.k8s.io", Server: "https://registry.k8s.io", Mirrors: []cluster.RegistryMirror{{URL: "https://other.example"}}},
	}
	if diff := cmp.Diff(want, c.Containerd.Registries); diff != "" {
		t.Error(diff)
	}
	if got := c.Containerd.Authorities; len(got) != 2 || got[0].Path != ca || got[1].PEM != sampleCA+"\n"+sampleCA {
		t.Errorf("authorities %+v", got)
	}
}

func TestRegistryCredentials(t *testing.T) {
	t.Parallel()
	c := mustResolve(t, cluster.Spec{Containerd: cluster.ContainerdSpec{
		Mirrors: map[string][]string{"docker.io": {"https://mirror.example:5000", "https://open.example"}},
		Credentials: map[string]cluster.RegistryCredentials{
			"mirror.example:5000": {Username: "reader", Password: "of the mirror"},
			"docker.io":           {Username: "hub", Password: "of the hub"},
		},
	}}, fleet(masters(1)))
	want := []cluster.RegistryLogin{
		{Registry: "docker.io", Key: "https://index.docker.io/v1/", Username: "hub", Password: "of the hub"},
		{Registry: "mirror.example:5000", Key: "mirror.example:5000", Username: "reader", Password: "of the mirror"},
	}
	if diff := cmp.Diff(want, c.Containerd.Credentials); diff != "" {
		t.Error(diff)
	}
	mirrors := []cluster.RegistryMirror{{URL: "https://mirror.example:5000", Username: "reader", Password: "of the mirror"}, {URL: "https://open.example"}}
	if r := c.Containerd.Registries[0]; !r.Secret || !cmp.Equal(mirrors, r.Mirrors) {
		t.Errorf("registry %+v", r)
	}
	if p := cluster.PlainSecrets(c, func(text string) bool { return text == "of the hub" }); len(p) != 1 || p[0].Subject != "cluster.containerd.credentials.mirror.example:5000.password" {
		t.Errorf("problems %+v, want one of the password that is not marked", p)
	}
}

// TestCredentialsAreRemoved: the file of the kubelet stays as long as a registry has
// credentials.
func TestCredentialsAreRemoved(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{true, false} {
		var spec cluster.Spec
		if with {
			spec.Containerd.Credentials = map[string]cluster.RegistryCredentials{"docker.io": {Username: "u", Password: "p"}}
		}
		c := mustResolve(t, spec, fleet(masters(1)))
		for _, owned := range c.Nodes[c.Masters[0]].Owned {
			if kept := len(owned.Keep) > 0; owned.Path == "/var/lib/kubelet" && kept != with {
				t.Errorf("with credentials %v: %+v", with, owned)
			}
		}
	}
}
