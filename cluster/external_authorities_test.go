package cluster

import (
	"slices"
	"strings"
	"testing"
)

// TestExternalAuthorities: when the key of an authority is external, the settings
// that need the key change, and no others.
func TestExternalAuthorities(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		external ExternalAuthoritiesSpec
		signing  bool // the controller manager signs, and kubelets renew their certificates
		listed   []string
		count    int // of the master's certificates that external authorities issue
	}{
		"none":    {signing: true, listed: []string{}},
		"etcd":    {external: ExternalAuthoritiesSpec{Etcd: "etcd.crt"}, signing: true, listed: []string{"etcd"}, count: 5},
		"cluster": {external: ExternalAuthoritiesSpec{Cluster: "ca.crt"}, listed: []string{"cluster"}, count: 10},
		"all":     {external: ExternalAuthoritiesSpec{Cluster: "ca.crt", Etcd: "etcd.crt", FrontProxy: "proxy.crt"}, listed: []string{"cluster", "etcd", "front-proxy"}, count: 16},
	} {
		c, err := Resolve(Spec{Certificates: CertificatesSpec{External: tt.external}}, []Host{
			{Name: "m1", Address: "10.0.0.1", Roles: []string{RoleMaster}},
			{Name: "n1", Address: "10.0.0.2", Roles: []string{RoleMinion}},
		})
		if err != nil {
			t.Fatal(err)
		}
		n := c.Nodes["m1"]
		has := func(cert string) (Certificate, bool) {
			i := slices.IndexFunc(n.Certificates, func(c Certificate) bool { return c.Name == cert })
			if i < 0 {
				return Certificate{}, false
			}
			return n.Certificates[i], true
		}
		kubelet, _ := has("kubelet-client")
		_, super := has(CertificateSuperAdmin)
		flags := strings.Join(n.Args.ControllerManager, " ")
		if signs := strings.Contains(flags, "cluster-signing-key-file"); signs != tt.signing || strings.Contains(flags, "ca-signing.crt") != tt.signing {
			t.Errorf("%s: the controller manager signs: %t", name, signs)
		}
		if n.KubeletConfig["rotateCertificates"] != tt.signing || (kubelet.Rotated != "") != tt.signing || super == tt.signing {
			t.Errorf("%s: the kubelet renews: %v, %q; super-admin: %t", name, n.KubeletConfig["rotateCertificates"], kubelet.Rotated, super)
		}
		if got := c.ExternalAuthorities.Names; !slices.Equal(got, tt.listed) {
			t.Errorf("%s: %q", name, got)
		}
		if got := c.ExternalCertificates("m1"); len(got) != tt.count {
			t.Errorf("%s: %d certificates are external, want %d", name, len(got), tt.count)
		}
		if c.ExternalAuthorities.Requests != "certificate-requests" {
			t.Errorf("%s: requests in %s", name, c.ExternalAuthorities.Requests)
		}
	}
}
