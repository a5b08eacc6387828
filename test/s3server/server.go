package s3server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"deployer/test/server"
)

// The credentials of the server's administrator, who may do everything.
const (
	AccessKey = "root-of-the-test"
	SecretKey = "+secret/of-the-root's=test"
)

// Network is the network of a server: that of this machine, or of the namespace of a lab.
type Network interface {
	// Command returns a command that runs in the network.
	Command(ctx context.Context, argv ...string) *exec.Cmd
	// Dial connects to an address of the network.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Machine is the network of this machine.
type Machine struct{ net.Dialer }

// Command returns a command.
func (*Machine) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the test's own command
}

// Dial connects to an address.
func (m *Machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return m.DialContext(ctx, network, address)
}

// Server is a running server.
type Server struct {
	Endpoint string // https://ADDRESS:PORT
	CA       string // PEM of its certificate's authority
	Dir      string // its buckets, as directories
	Client   *minio.Client

	t       testing.TB
	network Network
	program string
}

// Start starts a server on this machine, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartOn(t, &Machine{})
}

// StartOn starts a server on a free port of this machine's loopback.
func StartOn(t testing.TB, network Network) *Server {
	t.Helper()
	return StartIn(t, network, server.FreeAddress(t))
}

// StartIn starts a server on an address of a network; it ends with the test.
func StartIn(t testing.TB, network Network, address string) *Server {
	t.Helper()
	program := binary(t)
	dir := t.TempDir()
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Endpoint: "https://" + address, Dir: filepath.Join(dir, "buckets"), t: t, network: network, program: program}
	s.CA = certificate(t, dir, ip)
	for _, d := range []string{s.Dir, filepath.Join(dir, "metadata"), filepath.Join(dir, "accounts")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{DialContext: network.Dial, TLSClientConfig: &tls.Config{RootCAs: pool(t, s.CA)}}
	t.Cleanup(transport.CloseIdleConnections)
	s.Client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Secure: true, Region: "us-east-1", Transport: transport, MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	server.Start(t, "the object store", func(ctx context.Context) *exec.Cmd {
		cmd := network.Command(ctx, program, "--port", address, "--cert", filepath.Join(dir, "server.crt"), "--key", filepath.Join(dir, "server.key"),
			"--iam-dir", filepath.Join(dir, "accounts"), "--quiet", "posix", "--sidecar", filepath.Join(dir, "metadata"), s.Dir)
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
		return cmd
	}, func(ctx context.Context) error {
		_, err := s.Client.ListBuckets(ctx)
		return err
	})
	return s
}

// Bucket makes a bucket.
func (s *Server) Bucket(name string) {
	s.t.Helper()
	if err := s.Client.MakeBucket(s.t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Account makes an account that may do some actions, such as s3:PutObject, with the objects
// of a bucket. Its name is its access key.
func (s *Server) Account(name, secret, bucket string, actions ...string) {
	s.t.Helper()
	cmd := s.network.Command(s.t.Context(), s.program, "admin", "--allow-insecure", "create-user", "--access", name, "--secret", secret, "--role", "user")
	cmd.Env = append(os.Environ(), "ADMIN_ACCESS_KEY="+AccessKey, "ADMIN_SECRET_KEY="+SecretKey, "ADMIN_ENDPOINT_URL="+s.Endpoint)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("making the account %s: %v\n%s", name, err, out)
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":["%s"],"Resource":"arn:aws:s3:::%s/*"}]}`,
		name, strings.Join(actions, `","`), bucket)
	if err := s.Client.SetBucketPolicy(s.t.Context(), bucket, policy); err != nil {
		s.t.Fatal(err)
	}
}

// certificate writes server.crt and server.key for an address, and returns the PEM of the
// authority.
func certificate(t testing.TB, dir, ip string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "object store of a test"}, IPAddresses: []net.IP{net.ParseIP(ip)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, content := range map[string][]byte{"server.crt": text, "server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return string(text)
}

func pool(t testing.TB, text string) *x509.CertPool {
	t.Helper()
	out := x509.NewCertPool()
	if !out.AppendCertsFromPEM([]byte(text)) {
		t.Fatal("the authority is no certificate")
	}
	return out
}
