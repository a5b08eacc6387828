//go:build lab

package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	gossh "golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"deployer/engine/remote"
	"deployer/engine/transport"
	"deployer/engine/transport/ssh"
)

// authority signs certificates.
func authority(r *sshHost) gossh.Signer {
	r.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	signer, err := gossh.NewSignerFromKey(private)
	if err != nil {
		r.t.Fatal(err)
	}
	return signer
}

func sign(r *sshHost, ca gossh.Signer, kind uint32, key gossh.PublicKey, name string, until time.Duration) *gossh.Certificate {
	r.t.Helper()
	cert := &gossh.Certificate{Key: key, CertType: kind, KeyId: "e2e", ValidPrincipals: []string{name},
		ValidAfter: uint64(time.Now().Add(-48 * time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(until).Unix())}
	if kind == gossh.UserCert {
		cert.Extensions = map[string]string{"permit-pty": "", "permit-port-forwarding": ""}
	}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		r.t.Fatal(err)
	}
	return cert
}

// newKey writes a key that the host does not accept.
func newKey(r *sshHost) (path string, private ed25519.PrivateKey, public gossh.PublicKey) {
	r.t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		r.t.Fatal(err)
	}
	public, err = gossh.NewPublicKey(private.Public())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.file("id", string(pem.EncodeToMemory(block))), private, public
}

func authorized(key gossh.PublicKey) string {
	return strings.TrimSpace(string(gossh.MarshalAuthorizedKey(key)))
}

func userCertificates(r *sshHost) {
	ca := authority(r)
	r.put("/etc/ssh/user_ca.pub", "0644", authorized(ca.PublicKey()))
	r.sshd("TrustedUserCAKeys /etc/ssh/user_ca.pub")
	path, private, public := newKey(r)
	target := r.target("root")
	target.Keys = []string{path}
	r.requireRefusal(target, remote.NoBecome, "", transport.Auth, "as user root", "ssh.key")
	write := func(until time.Duration) {
		if err := os.WriteFile(path+"-cert.pub", gossh.MarshalAuthorizedKey(sign(r, ca, gossh.UserCert, public, "root", until)), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	write(time.Hour)
	r.requireRoot(target, remote.NoBecome, "")
	write(-time.Hour)
	r.requireRefusal(target, remote.NoBecome, "", transport.Auth, "ssh.key")
	// In an SSH agent.
	target.NoAgent, target.Keys = false, []string{}
	target.AgentSocket = serveAgent(r, sshagent.AddedKey{PrivateKey: &private, Certificate: sign(r, ca, gossh.UserCert, public, "root", time.Hour)})
	r.requireRoot(target, remote.NoBecome, "")
}

func hostCertificates(r *sshHost) {
	ca, target := authority(r), r.target("root")
	known := func(ca gossh.Signer) []string {
		key := ca.PublicKey()
		return []string{r.file("known", fmt.Sprintf("@cert-authority 172.31.0.* %s %s\n", key.Type(), base64.StdEncoding.EncodeToString(key.Marshal())))}
	}
	hostKey, _, _, _, err := gossh.ParseAuthorizedKey([]byte(r.runScript("cat /etc/ssh/ssh_host_ecdsa_key.pub")))
	if err != nil {
		r.t.Fatal(err)
	}
	show := func(name string, until time.Duration) {
		r.put("/etc/ssh/host-cert.pub", "0644", authorized(sign(r, ca, gossh.HostCert, hostKey, name, until)))
		r.sshd("HostCertificate /etc/ssh/host-cert.pub")
	}
	show(target.Address, time.Hour)
	target.KnownHosts = known(ca)
	r.requireRoot(target, remote.NoBecome, "") // known_hosts has the authority only
	other := target
	other.KnownHosts = known(authority(r))
	r.requireRefusal(other, remote.NoBecome, "", transport.HostKeyUnknown, "accept-new")
	plain := target
	plain.KnownHosts = []string{r.Files.KnownHosts()}
	r.requireRoot(plain, remote.NoBecome, "") // known_hosts has the key and no authority
	show("another.example", time.Hour)
	r.requireRefusal(target, remote.NoBecome, "", transport.HostKeyUnknown, "has an invalid certificate")
	show(target.Address, -time.Hour)
	r.requireRefusal(target, remote.NoBecome, "", transport.HostKeyUnknown, "expired")
}

func changedKey(r *sshHost) {
	r.runScript("cp -a /etc/ssh /etc/ssh.kept; rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; " + restartSSH)
	r.t.Cleanup(func() { r.runScript("rm -rf /etc/ssh && mv /etc/ssh.kept /etc/ssh; " + restartSSH) })
	target := r.target("root")
	target.HostKeys = ssh.AcceptNew // AcceptNew does not accept a changed key
	r.requireRefusal(target, remote.NoBecome, "", transport.HostKeyChanged, "has the key ssh-ed25519", r.Files.KnownHosts())
	target.KnownHosts = []string{r.file("known", "")}
	r.requireRoot(target, remote.NoBecome, "")
	target.HostKeys = ssh.Strict
	r.requireRoot(target, remote.NoBecome, "")
}
