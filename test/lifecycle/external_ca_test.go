//go:build lab

package lifecycle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"deployer/test/harness"
)

// authorityKeys are the keys of the authorities on a master.
var authorityKeys = []string{"/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/etcd/ca.key", "/etc/kubernetes/pki/front-proxy-ca.key"}

// externalAuthorities removes the keys of all authorities from the masters. From then
// on every certificate is requested by deployer and signed with openssl. The masters
// get the keys back at the end.
func externalAuthorities(s *site) {
	pki := s.pki()
	inventory, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) {
		certificates := harness.Section(harness.Section(inv, "cluster"), "certificates")
		certificates["external_authorities"] = map[string]any{
			"cluster": pki + "/cluster.crt", "etcd": pki + "/etcd.crt", "front_proxy": pki + "/front-proxy.crt", "requests": pki + "/requests",
		}
	})
	o := s.Deployer("install")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "has /etc/kubernetes/pki/ca.key, and the inventory says that the cluster authority is external", "nothing was changed")
	for _, m := range masters {
		s.Shell(m, "rm -f "+strings.Join(authorityKeys, " "))
	}
	s.Must("runs", "purge", "--yes", "-i", s.Inventory) // a rotation may have left copies of the keys for revert
	// The masters do not have the certificate super-admin yet.
	o = s.Deployer("install")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "certificate super-admin", "deployer certs requests", "nothing was changed")
	s.Must("certs", "requests")
	s.sign(pki, "365")
	s.Must("install")
	s.unchanged("with external authorities")
	s.requireNoAuthorityKeys()
	s.Must("certs", "list")

	s.Must("certs", "requests", "--within", "9000h")
	s.sign(pki, "20")
	s.Must("certs", "renew", "--yes")
	s.RequireExit(s.Deployer("certs", "list"), 5)
	s.Must("certs", "requests")
	s.sign(pki, "365")
	s.Must("certs", "renew", "--yes")
	s.Must("certs", "list")
	s.unchanged("after the renewal")
	s.RequireReady(nodes)
	s.Must("verify")

	if err := os.WriteFile(s.Inventory, inventory, 0o600); err != nil {
		s.T.Fatal(err)
	}
	for _, m := range masters {
		s.Shell(m, "for f in "+strings.Join(authorityKeys, " ")+`; do cp /root/kept"$f" "$f"; done; rm -rf /root/kept`)
	}
	s.Must("install")
	s.unchanged("with authorities of deployer again")
}

// pki copies the authorities from a master to a directory of the controller, as the
// team has them that owns the authorities. Each master keeps a copy of the keys for
// the end of the scenario.
func (s *site) pki() string {
	dir := s.T.TempDir()
	for i, name := range []string{"cluster", "etcd", "front-proxy"} {
		for ending, path := range map[string]string{".crt": authorityFiles[i], ".key": authorityKeys[i]} {
			if err := os.WriteFile(filepath.Join(dir, name+ending), []byte(s.Shell("m1", "cat "+path)), 0o600); err != nil {
				s.T.Fatal(err)
			}
		}
	}
	for _, m := range masters {
		s.Shell(m, "for f in "+strings.Join(authorityKeys, " ")+`; do install -D -m 0600 "$f" /root/kept"$f"; done`)
	}
	return dir
}

// sign signs the open requests as the guide describes.
func (s *site) sign(pki, days string) {
	s.T.Helper()
	cmd := exec.CommandContext(s.T.Context(), "sh", "-ec", `for csr in requests/*/*/*.csr; do
  authority=$(echo "$csr" | cut -d/ -f2)
  openssl x509 -req -in "$csr" -CA $authority.crt -CAkey $authority.key -days `+days+` -extfile "${csr%.csr}.ext" -out "${csr%.csr}.crt"
done`)
	cmd.Dir = pki
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("signing the requests: %v\n%s", err, out)
	}
}

// requireNoAuthorityKeys fails when a host has the key of an authority anywhere but in the
// copy of the scenario, or when the controller has one beside its logs.
func (s *site) requireNoAuthorityKeys() {
	s.T.Helper()
	for _, host := range nodes {
		if found := s.Shell(host, "find /etc /var/lib/deployer /var/lib/kubelet /run /tmp -name '*ca*.key' -o -name 'ca-next.pem' -o -name 'ca-signing.crt'"); strings.Contains(found, "ca.key") {
			s.T.Errorf("%s has keys of authorities: %s", host, found)
		}
	}
	for _, m := range masters {
		if found := s.Shell(m, "key=$(sed -n 2p /root/kept/etc/kubernetes/pki/ca.key); grep -rlF -e \"$key\" /etc /var/lib/deployer || true"); found != "" {
			s.T.Errorf("%s has the key of the cluster authority in %s", m, found)
		}
	}
}
