package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// authority is a CA that signs the requests of hosts, as the controller does.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	life time.Duration
	// spoil changes the certificate before it is signed.
	spoil func(*x509.Certificate)
	calls int
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 365 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key, life: 365 * 24 * time.Hour}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// sign answers "certificate.sign" with the certificate of want, whatever the request
// contains.
func (a *authority) sign(want Want) func(json.RawMessage) (any, error) {
	return func(in json.RawMessage) (any, error) {
		a.calls++
		var req struct{ Name, CSR string }
		if err := json.Unmarshal(in, &req); err != nil {
			return nil, err
		}
		block, _ := pem.Decode([]byte(req.CSR))
		csr, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, err
		}
		if err := csr.CheckSignature(); err != nil {
			return nil, err
		}
		if req.Name != want.Name {
			return nil, errors.New("unknown certificate " + req.Name)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: want.CN, Organization: want.Orgs},
			DNSNames: want.DNS, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(a.life),
		}
		for _, ip := range want.IPs {
			template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
		}
		for _, u := range want.Usages {
			template.ExtKeyUsage = append(template.ExtKeyUsage, map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth, "client": x509.ExtKeyUsageClientAuth}[u])
		}
		if a.spoil != nil {
			a.spoil(template)
		}
		der, err := x509.CreateCertificate(rand.Reader, template, a.cert, csr.PublicKey, a.key)
		return map[string]string{"cert": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}, err
	}
}

func wanted() Want {
	return Want{
		Name: "kubelet", Authority: "cluster", CN: "system:node:m1", Orgs: []string{"system:nodes"}, DNS: []string{"m1", "localhost"},
		IPs: []string{"127.0.0.1", "::1", "10.0.0.1"}, Usages: []string{"server", "client"},
		CertPath: "/var/lib/kubelet/pki/kubelet.crt", KeyPath: "/var/lib/kubelet/pki/kubelet.key", CAPath: "/etc/kubernetes/pki/ca.crt",
	}
}

func host(t *testing.T) (*tasktest.System, *authority) {
	t.Helper()
	sys, ca := tasktest.New(t), newAuthority(t)
	sys.Calls["certificate.sign"] = ca.sign(wanted())
	sys.Write(t, wanted().CAPath, ca.pem(), 0o644)
	return sys, ca
}

func module(w Want) *Certificates { return &Certificates{Certificates: []Want{w}} }

func TestIssueIsIdempotent(t *testing.T) {
	t.Parallel()
	sys, ca := host(t)
	change := tasktest.Converge(t, sys, module(wanted()))
	want := []string{
		"/var/lib/kubelet/pki/kubelet.key: make a key: it does not exist",
		"/var/lib/kubelet/pki/kubelet.crt: issue: it does not exist",
	}
	if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	for path, mode := range map[string]os.FileMode{wanted().KeyPath: 0o600, wanted().CertPath: 0o644} {
		if info, err := os.Stat(sys.Path(path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %v", path, info, err, mode)
		}
	}
	if ca.calls != 1 {
		t.Errorf("%d requests, want 1", ca.calls)
	}
}

// TestEveryDamageIsRepaired damages an up-to-date host in one way at a time. The next
// run repairs the damage and changes nothing else.
func TestEveryDamageIsRepaired(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage  func(t *testing.T, sys *tasktest.System, w *Want)
		want    string // in the effect on the certificate
		newKey  bool
		noCall  bool
		prepare func(ca *authority)
	}{
		"certificate gone, as after a kill between key and certificate": {
			damage: func(t *testing.T, sys *tasktest.System, w *Want) { remove(t, sys, w.CertPath) }, want: "it does not exist",
		},
		"certificate cut short": {
			damage: func(t *testing.T, sys *tasktest.System, w *Want) { sys.Write(t, w.CertPath, "-----BEGIN", 0o644) }, want: "cannot be read",
		},
		"key gone":   {damage: func(t *testing.T, sys *tasktest.System, w *Want) { remove(t, sys, w.KeyPath) }, want: "its key has to be made", newKey: true},
		"key broken": {damage: func(t *testing.T, sys *tasktest.System, w *Want) { sys.Write(t, w.KeyPath, "x", 0o600) }, want: "its key has to be made", newKey: true},
		"key of another": {
			damage: func(t *testing.T, sys *tasktest.System, w *Want) {
				other, _ := host(t)
				tasktest.Converge(t, other, module(*w))
				sys.Write(t, w.KeyPath, other.Read(t, w.KeyPath), 0o600)
			}, want: "does not belong to the key",
		},
		"key readable by all": {
			damage: func(t *testing.T, sys *tasktest.System, w *Want) { chmod(t, sys, w.KeyPath, 0o644) }, want: "set mode 0644 -> 0600", noCall: true,
		},
		"mode of the certificate": {
			damage: func(t *testing.T, sys *tasktest.System, w *Want) { chmod(t, sys, w.CertPath, 0o600) }, want: "set mode 0600 -> 0644", noCall: true,
		},
		"near its end": {
			damage: func(_ *testing.T, _ *tasktest.System, w *Want) { w.RenewBefore = 48 * time.Hour }, want: "it expires on",
			prepare: func(ca *authority) { ca.life = 24 * time.Hour },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, ca := host(t)
			if tt.prepare != nil {
				tt.prepare(ca)
			}
			w := wanted()
			w.RenewBefore = time.Hour
			tasktest.Converge(t, sys, module(w))
			key := sys.Read(t, w.KeyPath)
			ca.calls, ca.life = 0, 365*24*time.Hour
			tt.damage(t, sys, &w)
			damagedKey, _ := os.ReadFile(sys.Path(w.KeyPath))
			change := tasktest.Converge(t, sys, module(w))
			if last := change.Effects[len(change.Effects)-1]; !strings.Contains(last.Phrase(), tt.want) {
				t.Errorf("action %q, want %q", last.Phrase(), tt.want)
			}
			now := sys.Read(t, w.KeyPath)
			if made := now != key && now != string(damagedKey); made != tt.newKey {
				t.Errorf("new key: %t, want %t", made, tt.newKey)
			}
			if (ca.calls == 0) != tt.noCall {
				t.Errorf("%d requests", ca.calls)
			}
		})
	}
}

func remove(t *testing.T, sys *tasktest.System, path string) {
	t.Helper()
	if err := os.Remove(sys.Path(path)); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, sys *tasktest.System, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(sys.Path(path), mode); err != nil {
		t.Fatal(err)
	}
}

// TestChangedSpecReissues: every field of the wanted certificate is compared.
func TestChangedSpecReissues(t *testing.T) {
	t.Parallel()
	for part, change := range map[string]func(*Want){
		`want "other"`:  func(w *Want) { w.CN = "other" },
		"organizations": func(w *Want) { w.Orgs = nil },
		"DNS names":     func(w *Want) { w.DNS = append(w.DNS, "new") },
		"addresses":     func(w *Want) { w.IPs = w.IPs[1:] },
		"usages":        func(w *Want) { w.Usages = []string{"client"} },
	} {
		sys, _ := host(t)
		tasktest.Converge(t, sys, module(wanted()))
		w := wanted()
		change(&w)
		got := tasktest.Check(t, sys, module(w))
		if len(got.Effects) != 1 || !strings.Contains(got.Effects[0].Reason, part) {
			t.Errorf("%s: %+v", part, got.Effects)
		}
	}
}

func TestUnexpectedSignedCertificateIsRejected(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*authority, *tasktest.System){
		`its common name is "admin"`: func(ca *authority, _ *tasktest.System) {
			ca.spoil = func(c *x509.Certificate) { c.Subject.CommonName = "admin" }
		},
		"it expired": func(ca *authority, _ *tasktest.System) { ca.life = -time.Second },
		"it is valid only": func(ca *authority, _ *tasktest.System) {
			ca.spoil = func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }
		},
		"it is not signed by": func(_ *authority, sys *tasktest.System) {
			other := newAuthority(t)
			sys.Write(t, wanted().CAPath, other.pem(), 0o644)
		},
	} {
		sys, ca := host(t)
		spoil(ca, sys)
		_, _, err := tasktest.Run(t, sys, module(wanted()))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "was not put in place") {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := os.Stat(sys.Path(wanted().CertPath)); err == nil {
			t.Errorf("%s: the certificate was written all the same", want)
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	sys, _ := host(t)
	for want, spoil := range map[string]func(*Want){
		"are wanted":                    func(w *Want) { w.CAPath = "" },
		"the same file":                 func(w *Want) { w.CertPath = w.KeyPath },
		"unable to parse IP":            func(w *Want) { w.IPs = []string{"x"} },
		"is neither server nor client":  func(w *Want) { w.Usages = []string{"x"} },
		`path "rel" is not absolute`:    func(w *Want) { w.CertPath = "rel" },
		`certificate "kubelet": usage`:  func(w *Want) { w.Usages = []string{"y"} },
		`certificate kubelet: path "k"`: func(w *Want) { w.KeyPath = "k" },
	} {
		w := wanted()
		spoil(&w)
		if _, _, err := tasktest.Run(t, sys, module(w)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestAuthorityFilesAndRead(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	files := []map[string]any{
		{"path": "/etc/kubernetes/pki/ca.key", "mode": "0600", "content": "KEY", "secret": true},
		{"path": "/etc/kubernetes/pki/ca.crt", "mode": "0644", "content": "CERT"},
	}
	sys.Calls["authority.files"] = func(json.RawMessage) (any, error) { return map[string]any{"files": files}, nil }
	change := tasktest.Converge(t, sys, &CAFiles{Dir: "/etc/kubernetes"})
	want := []string{"/etc/kubernetes/pki/ca.key: create", "/etc/kubernetes/pki/ca.crt: create"}
	if diff := cmp.Diff(want, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	for _, e := range change.Effects {
		if e.Diff != "" {
			t.Errorf("%s: a diff of a secret", e.Target)
		}
	}
	read := tasktest.Check(t, sys, &CARead{Dir: "/etc/kubernetes"})
	wantRead := map[string]any{"/etc/kubernetes/pki/ca.key": "KEY", "/etc/kubernetes/pki/ca.crt": "CERT"}
	if diff := cmp.Diff(engine.Output{"files": wantRead}, read.Output); diff != "" {
		t.Error(diff)
	}
	files[0]["path"] = "/etc/kubernetes/../shadow"
	if _, err := (&CAFiles{}).Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "not below") {
		t.Errorf("error %v", err)
	}
	files = nil // a proxy gets nothing
	if tasktest.Check(t, sys, &CAFiles{}).Needed {
		t.Error("a host that gets no files has something to do")
	}
}

func TestCheckRows(t *testing.T) {
	t.Parallel()
	sys, _ := host(t)
	c := &Checks{Certificates: []Want{wanted()}, Paths: []string{wanted().CAPath, "/none"}}
	problems := func() int {
		return len(tasktest.Check(t, sys, c).Output["problems"].([]any))
	}
	if got := problems(); got != 2 {
		t.Errorf("%d problems before, want the missing certificate and path", got)
	}
	tasktest.Converge(t, sys, module(wanted()))
	if got := problems(); got != 1 {
		t.Errorf("%d problems after, want the missing path", got)
	}
}
