//go:build lab

package e2e

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"

	"deployer/test/lab/plan"
	testregistry "deployer/test/registry"
	"deployer/test/server"
)

// mirrors serves one registry in the lab twice: without encryption, and with a
// certificate that no host trusts.
type mirrors struct {
	plain, secure string // URLs
	host          string // address of secure, with its port
	authority     string // PEM of the authority of its certificate
}

// sampleImage is the image of the mirrors; its program sleeps.
const sampleImage = "library/sample:1"

func (s *site) mirrors() mirrors {
	s.T.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	loopback := httptest.NewServer(handler)
	defer loopback.Close()
	testregistry.Push(s.T, strings.TrimPrefix(loopback.URL, "http://")+"/"+sampleImage, http.DefaultTransport)
	address := plan.Controller().String()
	certificate := server.NewCertificate(s.T, address)
	serve := func(port string, config *tls.Config) string {
		listener, err := s.Listen(address + ":" + port)
		if err != nil {
			s.T.Fatal(err)
		}
		srv := &http.Server{Handler: handler, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
		if config != nil {
			listener = tls.NewListener(listener, config)
		}
		go func() { _ = srv.Serve(listener) }()
		s.T.Cleanup(func() { _ = srv.Close() })
		return listener.Addr().String()
	}
	plain := serve("5000", nil)
	secure := serve("5001", &tls.Config{Certificates: []tls.Certificate{certificate.Pair(s.T)}})
	return mirrors{plain: "http://" + plain, secure: "https://" + secure, host: secure, authority: certificate.PEM}
}
