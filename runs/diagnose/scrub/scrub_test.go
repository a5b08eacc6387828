package scrub

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestText: texts that look like secrets are removed, and other texts stay.
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"kubelet started on node n1\n", "kubelet started on node n1\n"},
		{"Nov 23 pulled sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "Nov 23 pulled sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
		{"/var/lib/kubelet/pods/0b7f6e1c-5f0d-4b7e-9d5e-0f1f3f6a7b8c/volumes/kubernetes.io~projected", "/var/lib/kubelet/pods/0b7f6e1c-5f0d-4b7e-9d5e-0f1f3f6a7b8c/volumes/kubernetes.io~projected"},
		{`err="x509: certificate has expired" path="/etc/kubernetes/pki/ca.crt"`, `err="x509: certificate has expired" path="/etc/kubernetes/pki/ca.crt"`},
		{"etcd --token=abc --name m1", "etcd --token=" + Mark + " --name m1"},
		{"mysql --password hunter2 db", "mysql --password " + Mark + " db"},
		{`{"password": "hunter 2", "user": "a"}`, `{"password": ` + Mark + `, "user": "a"}`},
		{`password "hunter2";`, `password ` + Mark + `;`},
		{"Authorization: Bearer abcdefgh.ijk", "Authorization: " + Mark},
		{`{"authorization":"Basic YTpi","a":"b"}`, `{"authorization":` + Mark + `","a":"b"}`},
		{"sent bearer abcdefgh.ijk", "sent bearer " + Mark},
		{"Reached target Basic System.", "Reached target Basic System."},
		{"digest sha256:0123abcd", "digest sha256:0123abcd"},
		{"GET https://bob:hunter2@registry/v2/", "GET https://bob:" + Mark + "@registry/v2/"},
		{"join with abcdef.0123456789abcdef", "join with " + Mark},
		{"    client-key-data: LS0tLS1CRUdJTiB\n", "    client-key-data: " + Mark + "\n"},
		{"root:$6$saltsalt$0123456789abcdef:19000", "root:" + Mark + ":19000"},
		{"apiVersion: v1\ndata:\n  a: aHVudGVyMg==\nkind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\ndata:\n  a: b\n",
			"apiVersion: v1\ndata: " + Mark + "\nkind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\ndata:\n  a: b\n"},
		{`audit {"kind":"Secret","data":{"a":"aHVudGVyMg=="}}` + "\nnext\n", "audit " + Mark + "\nnext\n"},
	} {
		if got := Text(c.text); strings.TrimRight(got, "\n") != strings.TrimRight(c.want, "\n") {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// TestTextStaysPlain: certificates are public.
func TestTextStaysPlain(t *testing.T) {
	t.Parallel()
	text := "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	if got := Text(text); got != text {
		t.Errorf("got %q", got)
	}
}

// window is the number of characters of a secret that must not stay together.
const window = 12

// TestNoSecretStays inserts random keys and tokens into random logs, cuts these at
// any place, and looks for parts of the secrets in the result.
func TestNoSecretStays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, secrets := plant(t, r)
		got := Text(text)
		for _, s := range secrets {
			for i := 0; i+window <= len(s); i++ {
				if strings.Contains(got, s[i:i+window]) {
					t.Fatalf("seed %d: %q of a secret stays in\n%s\nof\n%s", seed, s[i:i+window], got, text)
				}
			}
		}
		if !strings.Contains(got, "harmless") {
			t.Fatalf("seed %d: everything is gone:\n%s", seed, text)
		}
	}
}

// plant returns a log with a secret in it, and the parts of the secret.
func plant(t *testing.T, r *rand.Rand) (string, []string) {
	t.Helper()
	prefix := []string{"", "2026-11-23T10:00:00+0000 m1 kubelet[1]: ", "Nov 23 10:00:00 m1 app: "}[r.IntN(3)]
	lines := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(prefix + line)
		}
		return b.String()
	}
	harmless := strings.Repeat(prefix+"harmless message number one\n", 1+r.IntN(5))
	switch r.IntN(6) {
	case 0, 1: // a key over several lines, perhaps cut
		key := privateKey(t, r)
		body := strings.Split(strings.TrimSpace(key), "\n")
		block := lines(key)
		switch r.IntN(3) {
		case 0:
			block = block[len(prefix)+r.IntN(len(block)/2):]
			return block + harmless, body[1 : len(body)-1]
		case 1:
			block = block[:40+len(prefix)+r.IntN(len(block)/2)] + "\n"
			return harmless + block, body[1 : len(body)-1]
		}
		return harmless + block + harmless, body[1 : len(body)-1]
	case 2: // a key within a text of JSON
		key := privateKey(t, r)
		quoted, _ := json.Marshal(map[string]string{"msg": "got " + key})
		body := strings.Split(strings.TrimSpace(key), "\n")
		return harmless + prefix + string(quoted) + "\n" + harmless, body[1 : len(body)-1]
	case 3: // a key in base64, as in kubeconfigs
		data := base64.StdEncoding.EncodeToString([]byte(privateKey(t, r)))
		return harmless + prefix + fmt.Sprintf("    client-key-data: %s\n", data) + harmless, []string{data}
	case 4: // tokens
		random := make([]byte, 32)
		_, _ = crand.Read(random)
		token := base64.RawURLEncoding.EncodeToString(random)
		form := []string{"token=%s\n", "Authorization: Bearer %s\n", `{"access_key":"%s"}` + "\n", "using --password %s now\n", "key %s\n"}[r.IntN(5)]
		return harmless + prefix + fmt.Sprintf(form, token) + harmless, []string{token}
	default: // a token of a service account
		claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iss":"kubernetes","n":%d}`, r.Uint64()))
		random := make([]byte, 64)
		_, _ = crand.Read(random)
		signature := base64.RawURLEncoding.EncodeToString(random)
		jwt := "eyJhbGciOiJSUzI1NiJ9." + claims + "." + signature
		return harmless + prefix + "got " + jwt + "\n" + harmless, []string{claims, signature}
	}
}

func privateKey(t *testing.T, r *rand.Rand) string {
	t.Helper()
	encode := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	switch r.IntN(4) {
	case 0:
		k, _ := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
		der, err := x509.MarshalECPrivateKey(k)
		return encode("EC PRIVATE KEY", der, err)
	case 1:
		k, _ := rsa.GenerateKey(crand.Reader, 1024)
		return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k), nil)
	case 2:
		_, k, _ := ed25519.GenerateKey(crand.Reader)
		block, err := ssh.MarshalPrivateKey(k, "")
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(block))
	default:
		_, k, _ := ed25519.GenerateKey(crand.Reader)
		der, err := x509.MarshalPKCS8PrivateKey(k)
		return encode("PRIVATE KEY", der, err)
	}
}
