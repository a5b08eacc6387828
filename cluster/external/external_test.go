package external

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
)

// pki is a directory in which openssl works, as the owner of an authority does.
type pki struct {
	t   *testing.T
	dir string
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	return &pki{t, t.TempDir()}
}

func (p *pki) openssl(args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "openssl", args...)
	cmd.Dir = p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (p *pki) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pki) read(names ...string) []byte {
	p.t.Helper()
	var out []byte
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, data...)
	}
	return out
}

const authorityExtensions = "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign\nsubjectKeyIdentifier = hash\n"

// issue makes NAME.key and NAME.crt. An empty issuer signs itself.
func (p *pki) issue(name, issuer, extensions string, more ...string) {
	p.t.Helper()
	p.write(name+".ext", extensions)
	p.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name+".key", "-subj", "/CN="+name, "-out", name+".csr")
	p.sign(name, issuer, more...)
}

func (p *pki) sign(name, issuer string, more ...string) {
	p.t.Helper()
	args := append([]string{"x509", "-req", "-in", name + ".csr", "-extfile", name + ".ext", "-out", name + ".crt"}, more...)
	if issuer == "" {
		args = append(args, "-signkey", name+".key")
	} else {
		args = append(args, "-CA", issuer+".crt", "-CAkey", issuer+".key")
	}
	p.openssl(args...)
}

// TestParseAuthority: a file of an authority is accepted with the authorities above
// it, and any other file is refused with its line.
func TestParseAuthority(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	p.issue("root", "", authorityExtensions)
	p.issue("issuing", "root", authorityExtensions)
	p.issue("stranger", "", authorityExtensions)
	p.issue("leaf", "root", "basicConstraints = CA:FALSE\n")
	p.issue("nosign", "", "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, cRLSign\n")
	p.issue("mail", "", authorityExtensions+"extendedKeyUsage = emailProtection\n")
	p.issue("short", "", authorityExtensions, "-days", "1")
	lines := func(file string) string {
		return string(rune('0'+strings.Count(string(p.read(file)), "\n")/10)) + string(rune('0'+strings.Count(string(p.read(file)), "\n")%10+1))
	}
	now := time.Now().Add(time.Minute)
	for name, tt := range map[string]struct {
		files []string
		at    time.Time
		want  string // of the error; empty for none
		certs int
	}{
		"self-signed":                             {files: []string{"root.crt"}, certs: 1},
		"intermediate authority with its root":    {files: []string{"issuing.crt", "root.crt"}, certs: 2},
		"intermediate authority without its root": {files: []string{"issuing.crt"}, want: "line 1: CN=issuing is signed by CN=root, whose certificate is not in the file"},
		"root first":                              {files: []string{"root.crt", "issuing.crt"}, want: "line " + lines("root.crt") + ": CN=issuing has signed no certificate before it"},
		"two authorities":                         {files: []string{"root.crt", "stranger.crt"}, want: "line " + lines("root.crt") + ": CN=stranger has signed no certificate before it"},
		"leaf":                                    {files: []string{"leaf.crt", "root.crt"}, want: "line 1: CN=leaf is not the certificate of an authority"},
		"key usage":                               {files: []string{"nosign.crt"}, want: "line 1: CN=nosign may not sign certificates: its key usage lacks keyCertSign"},
		"extended key usage":                      {files: []string{"mail.crt"}, want: "line 1: CN=mail may not sign certificates of servers and clients"},
		"expired":                                 {files: []string{"short.crt"}, at: now.Add(48 * time.Hour), want: "line 1: CN=short expired on "},
		"not valid yet":                           {files: []string{"root.crt"}, at: now.Add(-48 * time.Hour), want: "line 1: CN=root is valid only from "},
		"private key":                             {files: []string{"root.crt", "root.key"}, want: "line " + lines("root.crt") + ": there is a PRIVATE KEY"},
		"no PEM data":                             {files: []string{"root.ext"}, want: "there is no certificate in PEM form"},
		"damaged certificate after other text":    {files: []string{"root.ext", "broken.crt"}, want: "line 4: reading the certificate"},
	} {
		if name == "damaged certificate after other text" {
			p.write("broken.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})))
		}
		if tt.at.IsZero() {
			tt.at = now
		}
		certs, err := ParseAuthority(p.read(tt.files...), tt.at)
		switch {
		case tt.want == "" && (err != nil || len(certs) != tt.certs):
			t.Errorf("%s: %d certificates, %v", name, len(certs), err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// wanted is a certificate with names of each kind.
func wanted() cluster.Certificate {
	return cluster.Certificate{
		Name: "kubelet-serving", Authority: cluster.AuthorityCluster, CN: "system:node:n1", Orgs: []string{"system:nodes"},
		DNS: []string{"n1", "localhost"}, IPs: []string{"10.0.0.1", "::1"}, Usages: []string{"server"},
		CertPath: "/var/lib/kubelet/pki/kubelet-serving.crt",
	}
}

// request writes NAME.csr in the form of a host's request, made by openssl.
func (p *pki) request(name, subject, extensions string) {
	p.t.Helper()
	p.write(name+".cnf", "[req]\ndistinguished_name=dn\nreq_extensions=v3\nprompt=no\n[dn]\n"+subject+"[v3]\n"+extensions)
	p.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", name+".key", "-config", name+".cnf", "-out", name+".csr")
}

const (
	goodSubject    = "O=system:nodes\nCN=system:node:n1\n"
	goodExtensions = "subjectAltName=DNS:n1,DNS:localhost,IP:10.0.0.1,IP:::1\nextendedKeyUsage=serverAuth\n"
)

// TestCheckRequest: a host can request only its own certificate.
func TestCheckRequest(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	for name, tt := range map[string]struct{ subject, extensions, want string }{
		"good":                   {goodSubject, goodExtensions, ""},
		"another name":           {"O=system:nodes\nCN=system:node:m1\n", goodExtensions, `its common name is "system:node:m1", want "system:node:n1"`},
		"another group":          {"O=system:masters\nCN=system:node:n1\n", goodExtensions, "its organizations are [system:masters], want [system:nodes]"},
		"an additional group":    {"0.O=system:nodes\n1.O=system:masters\nCN=system:node:n1\n", goodExtensions, "asks for more"},
		"a second common name":   {"O=system:nodes\n0.CN=system:node:n1\n1.CN=admin\n", goodExtensions, "asks for more"},
		"an organizational unit": {"O=system:nodes\nOU=x\nCN=system:node:n1\n", goodExtensions, "asks for more"},
		"an additional DNS name": {goodSubject, strings.Replace(goodExtensions, "DNS:n1", "DNS:n1,DNS:m1", 1), "its DNS names are [localhost m1 n1], want [localhost n1]"},
		"another address":        {goodSubject, strings.Replace(goodExtensions, "10.0.0.1", "10.0.0.2", 1), "its addresses are [10.0.0.2 ::1]"},
		"an e-mail":              {goodSubject, strings.Replace(goodExtensions, "DNS:n1", "DNS:n1,email:a@b", 1), "asks for more"},
		"another usage":          {goodSubject, strings.Replace(goodExtensions, "serverAuth", "serverAuth,clientAuth", 1), "its extended key usages are [client server], want [server]"},
		"an authority":           {goodSubject, goodExtensions + "basicConstraints=CA:TRUE\n", "it asks for the extension 2.5.29.19"},
	} {
		file := strings.ReplaceAll(name, " ", "-")
		p.request(file, tt.subject, tt.extensions)
		key, err := CheckRequest(wanted(), p.read(file+".csr"))
		switch {
		case tt.want == "" && (err != nil || key == nil):
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := CheckRequest(wanted(), []byte("x")); err == nil {
		t.Error("a text is taken for a request")
	}
}

// TestOpenSSLSigns: openssl signs a request with the file of extensions as the table
// says, and any other certificate is refused with its difference.
func TestOpenSSLSigns(t *testing.T) {
	t.Parallel()
	p := newPKI(t)
	p.issue("ca", "", authorityExtensions)
	p.issue("other", "", authorityExtensions)
	authority, err := ParseAuthority(p.read("ca.crt"), time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	p.request("host", goodSubject, goodExtensions)
	p.request("host2", goodSubject, goodExtensions)
	key, err := CheckRequest(wanted(), p.read("host.csr"))
	if err != nil {
		t.Fatal(err)
	}
	ext := Describe("n1", wanted(), "it does not exist", time.Hour).OpenSSL()
	now := time.Now().Add(time.Minute)
	for name, tt := range map[string]struct {
		request, issuer, ext string
		at                   time.Time
		want                 string
	}{
		"good":                               {},
		"another key":                        {request: "host2", want: "its public key is not that of the request"},
		"another subject":                    {want: "its organizations are []"},
		"another issuer":                     {issuer: "other", want: "it is issued by CN=other and not signed by the authority CN=ca"},
		"without names":                      {ext: strings.Split(ext, "subjectAltName")[0], want: "its DNS names are [], want [localhost n1]"},
		"without extended key usages":        {ext: strings.Replace(ext, "extendedKeyUsage", "# ", 1), want: "its extended key usages are [], want [server]"},
		"an additional extended key usage":   {ext: strings.Replace(ext, "serverAuth", "serverAuth, clientAuth", 1), want: "its extended key usages are [client server]"},
		"an authority":                       {ext: strings.Replace(ext, "CA:FALSE", "CA:TRUE", 1), want: "it is the certificate of an authority"},
		"key usage without digitalSignature": {ext: strings.Replace(ext, "digitalSignature, ", "", 1), want: "its key usage lacks digitalSignature"},
		"a URI as alternative name":          {ext: strings.Replace(ext, "DNS:n1", "URI:spiffe://x, DNS:n1", 1), want: "e-mail addresses or URIs"},
		"expired":                            {at: now.Add(48 * time.Hour), want: "it expired on "},
		"not valid yet":                      {at: now.Add(-48 * time.Hour), want: "it is valid only from "},
	} {
		if tt.request == "" {
			tt.request = "host"
		}
		if tt.issuer == "" {
			tt.issuer = "ca"
		}
		if tt.ext == "" {
			tt.ext = ext
		}
		if tt.at.IsZero() {
			tt.at = now
		}
		p.write(tt.request+".ext", tt.ext)
		if name == "another subject" { // its owner signs another request of the same key
			p.openssl("req", "-new", "-key", "host.key", "-subj", "/CN=system:node:n1", "-out", "renamed.csr")
			p.write("renamed.ext", tt.ext)
			tt.request = "renamed"
		}
		p.sign(tt.request, tt.issuer, "-days", "1")
		_, err := Verify(wanted(), p.read(tt.request+".crt"), key, authority, tt.at)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := Verify(wanted(), p.read("host.key"), key, authority, now); err == nil || !strings.Contains(err.Error(), "does not begin with a certificate") {
		t.Errorf("a key: %v", err)
	}
}

// TestDescribe: the profile follows from the usages, and the names are in the form of
// openssl.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for profile, usages := range map[string][]string{"server": {"server"}, "client": {"client"}, "peer": {"server", "client"}} {
		want := wanted()
		want.Usages = usages
		r := Describe("n1", want, "", 8760*time.Hour)
		if r.Profile != profile || r.Subject != "/O=system:nodes/CN=system:node:n1" || r.Request != "cluster/n1/kubelet-serving.csr" || r.Validity != "8760h0m0s" {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(Describe("n1", wanted(), "", time.Hour).OpenSSL(), "subjectAltName = DNS:n1, DNS:localhost, IP:10.0.0.1, IP:::1\n") {
		t.Error(Describe("n1", wanted(), "", time.Hour).OpenSSL())
	}
}
