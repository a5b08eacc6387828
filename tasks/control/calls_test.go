package control_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/tasks/control"
	"deployer/tasks/control/keyring"
)

func ring(t *testing.T) *keyring.Keyring {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	ring := &keyring.Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	return ring
}

// ask calls a handler and returns its reply as JSON, as hosts receive it.
func ask(t *testing.T, calls map[string]control.Call, method, host string, in any) (map[string]any, error) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := calls[method](context.Background(), host, raw)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

func newRequest(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

// resolve returns a small cluster with hosts of every role.
func resolve(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Resolve(cluster.Spec{Name: "test"}, []cluster.Host{
		{Name: "m1", Address: "10.0.0.11", Roles: []string{cluster.RoleMaster}},
		{Name: "e1", Address: "10.0.0.21", Roles: []string{cluster.RoleEtcd}},
		{Name: "n1", Address: "10.0.0.31", Roles: []string{cluster.RoleMinion}},
		{Name: "p1", Address: "10.0.0.41", Roles: []string{cluster.RoleProxy}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificatesAreSignedForTheirHostOnly(t *testing.T) {
	c, keys := resolve(t), ring(t)
	calls := control.Calls(keys, c)
	signed := 0
	for _, owner := range c.Order {
		for _, want := range cluster.Certificates(c, owner) {
			for _, host := range c.Order {
				entitled := slices.ContainsFunc(cluster.Certificates(c, host), func(x cluster.Certificate) bool { return x.Name == want.Name })
				answer, err := ask(t, calls, "certificate.sign", host, map[string]string{"name": want.Name, "csr": newRequest(t)})
				if (err == nil) != entitled {
					t.Fatalf("%s asks for %s: %v", host, want.Name, err)
				}
				if host != owner {
					continue
				}
				signed++
				verify(t, keys, want, answer["cert"].(string))
			}
		}
	}
	if signed < 10 {
		t.Errorf("only %d certificates in the table", signed)
	}
}

func verify(t *testing.T, ring *keyring.Keyring, want cluster.Certificate, text string) {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := ring.Keys()
	authority, _ := keys.Authority(want.Authority)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: authority.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Errorf("%s: %v", want.Name, err)
	}
	if cert.Subject.CommonName != want.CN || !slices.Equal(cert.Subject.Organization, want.Orgs) || len(cert.ExtKeyUsage) != len(want.Usages) {
		t.Errorf("%s: subject %s, usages %v, want %+v", want.Name, cert.Subject, cert.ExtKeyUsage, want)
	}
	for _, name := range slices.Concat(want.DNS, want.IPs) {
		if err := cert.VerifyHostname(name); err != nil {
			t.Errorf("%s: %v", want.Name, err)
		}
	}
}

func TestHostsGetTheFilesOfTheirRoles(t *testing.T) {
	calls := control.Calls(ring(t), resolve(t))
	for host, want := range map[string][]string{
		"m1":      slices.Insert(keyring.Paths(), len(keyring.Paths())-1, keyring.ClusterSigning),
		"e1":      {keyring.EtcdCert},
		"n1":      {keyring.ClusterCert},
		"p1":      nil,
		"unknown": nil,
	} {
		answer, err := ask(t, calls, "authority.files", host, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		files, _ := answer["files"].([]any)
		for _, f := range files {
			got = append(got, f.(map[string]any)["path"].(string))
			if host != "m1" && strings.Contains(f.(map[string]any)["content"].(string), "PRIVATE") {
				t.Errorf("%s gets a key", host)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s gets %v, want %v", host, got, want)
		}
	}
}

func TestSigningFailsBeforeTheKeysAreLoaded(t *testing.T) {
	calls := control.Calls(&keyring.Keyring{}, resolve(t))
	_, err := ask(t, calls, "certificate.sign", "m1", map[string]string{"name": "apiserver", "csr": newRequest(t)})
	if !errors.Is(err, keyring.ErrEmpty) {
		t.Errorf("got %v", err)
	}
}

// TestBGPPasswordIsReturnedToNodesOnly: only hosts with BGP sessions get the password.
func TestBGPPasswordIsReturnedToNodesOnly(t *testing.T) {
	c, keys := resolve(t), ring(t)
	for host, wanted := range map[string]bool{"m1": true, "n1": true, "e1": false, "p1": false, "stranger": false} {
		got, err := ask(t, control.Calls(keys, c), "bgp.password", host, nil)
		if wanted != (err == nil && got["password"] != "") {
			t.Errorf("%s: %d bytes, %v", host, len(got), err)
		}
	}
	c.Network.Authentication = cluster.AuthenticationNone
	if got, err := ask(t, control.Calls(keys, c), "bgp.password", "n1", nil); err != nil || got["password"] != "" {
		t.Errorf("a cluster whose inventory says none: %v, %v", got, err)
	}
}
