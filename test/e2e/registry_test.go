//go:build lab

package e2e

import (
	"archive/tar"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/images"
	"deployer/test/lab/plan"
)

// mirrors serves one registry in the lab twice: without encryption, and with a
// certificate that no host knows.
type mirrors struct {
	plain, secure string // URLs
	host          string // of secure, with its port
	authority     string // PEM of who signed its certificate
}

// sampleImage is the image of the mirrors; its program sleeps.
const sampleImage = "library/sample:1"

func (s *site) mirrors() mirrors {
	s.T.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	push(s.T, handler, sampleImage)
	address := plan.Controller().String()
	certificate, authority := selfSigned(s.T, address)
	serve := func(port string, config *tls.Config) string {
		listener, err := s.Listen(address + ":" + port)
		if err != nil {
			s.T.Fatal(err)
		}
		server := &http.Server{Handler: handler, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
		if config != nil {
			listener = tls.NewListener(listener, config)
		}
		go func() { _ = server.Serve(listener) }()
		s.T.Cleanup(func() { _ = server.Close() })
		return listener.Addr().String()
	}
	plain := serve("5000", nil)
	secure := serve("5001", &tls.Config{Certificates: []tls.Certificate{certificate}})
	return mirrors{plain: "http://" + plain, secure: "https://" + secure, host: secure, authority: authority}
}

// push puts the sample image into a registry, over loopback.
func push(t *testing.T, handler http.Handler, image string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "pause"), "deployer/images/build/pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the sample's program: %v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "pause"))
	if err != nil {
		t.Fatal(err)
	}
	layer := filepath.Join(dir, "layer.tar")
	f, err := os.Create(layer)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(f)
	if err := archive.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	img, err := images.Assemble(layer, runtime.GOARCH, v1.Config{Entrypoint: []string{"/pause"}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/"+image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}

// selfSigned returns a self-signed certificate for an address.
func selfSigned(t *testing.T, address string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry of the lab"}, IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(text)
}

// pulls runs a pod with an image that the node does not have, and checks the server that
// it was pulled from.
func (s *site) pulls(master, node, image string) {
	s.T.Helper()
	pod := "pull-" + strings.NewReplacer(".", "-", "/", "-", ":", "-").Replace(image)
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"nodeName":%q,"tolerations":[{"operator":"Exists"}],"containers":[{"name":"c","image":%q,"imagePullPolicy":"Always"}]}}`, pod, node, image)
	s.Shell(master, fmt.Sprintf("cat > /tmp/pod.json <<'EOF'\n%s\nEOF", manifest))
	s.Kubectl(master, "apply -f /tmp/pod.json")
	if out, err := s.SSH(s.T.Context(), master, "kubectl --kubeconfig /etc/kubernetes/admin.conf wait --for=condition=Ready pod/"+pod+" --timeout=60s"); err != nil {
		s.T.Errorf("a pod of %s does not run: %v %s\n%s", image, err, out, s.Kubectl(master, "describe pod "+pod))
	}
	s.Kubectl(master, "delete pod "+pod+" --wait=false")
}
