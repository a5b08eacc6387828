package served

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
)

// selfSigned returns a certificate with a key.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server serves the certificate that serving returns, on any address of a host, and
// demands one of the client, as etcd does.
func server(t *testing.T, file []byte, serving func() tls.Certificate) *actiontest.Context {
	t.Helper()
	sum := sha256.Sum256(file)
	actx := &actiontest.Context{Name: "m1", Provided: engine.Services{}}
	engine.Provide(actx.Provided, &cluster.Cluster{Nodes: map[string]cluster.Node{
		"m1": {IP: "10.0.0.1", Certificates: []cluster.Certificate{{Name: "etcd/server", CertPath: "/server.crt"}, {Name: "etcd/healthcheck-client", CertPath: "/client.crt"}}},
	}})
	actx.DialFunc = func(_ context.Context, _, _, address string) (net.Conn, error) {
		if address != "10.0.0.1:2379" {
			t.Errorf("connects to %s", address)
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			pair := serving()
			_ = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}).Handshake()
		}()
		return ours, nil
	}
	actx.RunFunc = func(context.Context, string, string, engine.Module) (engine.Result, error) {
		return engine.Result{Output: engine.Output{"certificates": []any{map[string]any{"fingerprint": hex.EncodeToString(sum[:])}}}}, nil
	}
	return actx
}

func TestServedCertificateIsThatOfTheFile(t *testing.T) {
	t.Parallel()
	former, renewed := selfSigned(t), selfSigned(t)
	handshakes := 0
	actx := server(t, renewed.Certificate[0], func() tls.Certificate {
		if handshakes++; handshakes < 3 {
			return former
		}
		return renewed
	})
	if _, err := NewServed().Check(t.Context(), actx); err != nil || handshakes != 3 {
		t.Errorf("after %d handshakes: %v", handshakes, err)
	}
}

func TestFormerCertificateIsAFailure(t *testing.T) {
	t.Parallel()
	former := selfSigned(t)
	actx := server(t, selfSigned(t).Certificate[0], func() tls.Certificate { return former })
	_, err := (&Served{Timeout: 1500 * time.Millisecond}).Check(t.Context(), actx)
	if err == nil || !strings.Contains(err.Error(), "waiting until 10.0.0.1:2379 serves the certificate /server.crt: ") || !strings.Contains(err.Error(), "serves another certificate") {
		t.Errorf("error %v", err)
	}
	actx.Check = true
	if _, err := NewServed().Check(t.Context(), actx); err != nil {
		t.Errorf("a dry run waits: %v", err)
	}
}
