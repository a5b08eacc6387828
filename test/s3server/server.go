package s3server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"deployer/test/server"
)

// The credentials of the server's administrator, who has all rights.
const (
	AccessKey = "root-of-the-test"
	SecretKey = "+secret/of-the-root's=test"
)

// Server is a running server.
type Server struct {
	Endpoint string // https://ADDRESS:PORT
	CA       string // PEM of the authority of the server's certificate
	Dir      string // directory with a subdirectory for each bucket
	Client   *minio.Client

	t       testing.TB
	network server.Network
	program string
}

// Start starts a server on this machine, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartOn(t, &server.Machine{})
}

// StartOn starts a server on a free port of this machine's loopback.
func StartOn(t testing.TB, network server.Network) *Server {
	t.Helper()
	return StartIn(t, network, server.FreeAddress(t))
}

// StartIn starts a server on an address of a network; it ends with the test.
func StartIn(t testing.TB, network server.Network, address string) *Server {
	t.Helper()
	program := binary(t)
	dir := t.TempDir()
	ip, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Endpoint: "https://" + address, Dir: filepath.Join(dir, "buckets"), t: t, network: network, program: program}
	certificate := server.NewCertificate(t, ip)
	certificate.Write(t, dir)
	s.CA = certificate.PEM
	for _, d := range []string{s.Dir, filepath.Join(dir, "metadata"), filepath.Join(dir, "accounts")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.Client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Secure: true, Region: "us-east-1", Transport: certificate.Transport(t, network), MaxRetries: 1})
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

// Account creates an account that may execute some actions, such as s3:PutObject,
// with the objects of a bucket. Its name is its access key.
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
