package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ProxyTLSSpec is the `cluster.proxy.tls:` section.
type ProxyTLSSpec struct {
	Port            int    `yaml:"port" default:"443" doc:"Port on which hosts of role proxy serve the API with this certificate, beside proxy.port, at which TLS is passed through."`
	Certificate     string `yaml:"certificate" doc:"The certificate, followed by those of intermediate authorities, in PEM form. Default: none, and proxies end no TLS."`
	CertificateFile string `yaml:"certificate_file" doc:"File with the certificates, relative to the inventory, in place of certificate."`
	PrivateKey      string `yaml:"private_key" doc:"Private key of the certificate in PEM form, as !env NAME or !secret TEXT."`
	PrivateKeyFile  string `yaml:"private_key_file" doc:"File with the private key in PEM form, relative to the inventory, in place of private_key."`
}

// Used reports whether proxies end TLS. The files must have been read before.
func (s ProxyTLSSpec) Used() bool { return s.Certificate != "" }

// ProxyTLS is the certificate with which API proxies serve clients outside of the cluster.
type ProxyTLS struct {
	Port       int    `json:"port"`        // port on which hosts of role proxy serve the API with the certificate
	Chain      string `json:"chain"`       // the certificate and intermediate ones in PEM form
	PrivateKey string `json:"private_key"` // its private key in PEM form
}

// proxyCertificate is the name of the file with the certificate and its key, beside the proxy's
// configuration.
const proxyCertificate = "api-tls.pem"

// proxyTLS returns the certificate of the proxies; nil when they end no TLS.
func (r *resolver) proxyTLS() *ProxyTLS {
	s := r.spec.Proxy.TLS
	if !s.Used() {
		return nil
	}
	return &ProxyTLS{Port: s.Port, Chain: s.Certificate, PrivateKey: s.PrivateKey}
}

// NodeTLS is where the API proxy of a host ends TLS.
type NodeTLS struct {
	Listen   []string `json:"listen"`   // address:port pairs; empty where the proxy ends no TLS
	External string   `json:"external"` // address:port of the external address, where the host has it; empty for none
	Virtual  string   `json:"virtual"`  // address:port of the virtual address, whether the host has it or not; empty for none
}

// Used reports whether the proxy ends TLS.
func (n NodeTLS) Used() bool { return len(n.Listen) > 0 }

// nodeTLS returns where the proxy of a host ends TLS.
func (r *resolver) nodeTLS(n Node) NodeTLS {
	out := NodeTLS{Listen: []string{}}
	s := r.spec.Proxy.TLS
	if !s.Used() || !n.RunsExternalProxy {
		return out
	}
	for _, ip := range n.IPs {
		out.Listen = append(out.Listen, hostPort(ip, s.Port))
	}
	out.External = r.proxyExternal(n, s.Port)
	if address := r.spec.API.VirtualIP.Address; address != "" {
		out.Virtual = hostPort(address, s.Port)
	}
	return out
}

// Check compares the certificate with its key and the time. The error says what is wrong.
func (p ProxyTLS) Check(now time.Time) error {
	pair, err := tls.X509KeyPair([]byte(p.Chain), []byte(p.PrivateKey))
	if err != nil {
		return fmt.Errorf("it and the private key are no pair: %w", err)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	switch {
	case err != nil:
		return err
	case now.After(cert.NotAfter):
		return fmt.Errorf("it has expired on %s: write a new one", cert.NotAfter.UTC().Format(time.DateOnly))
	case len(cert.DNSNames)+len(cert.IPAddresses) == 0:
		return errors.New("it has no subject alternative name, without which no client accepts it: issue one with the names and addresses that clients use")
	}
	return nil
}

// plainProxyKey returns a problem for a private key that is not marked as secret.
func plainProxyKey(c *Cluster, isSecret func(string) bool) Problems {
	if c.Proxy.TLS == nil || isSecret(c.Proxy.TLS.PrivateKey) {
		return nil
	}
	return Problems{{Code: "plain-secret", Subject: "cluster.proxy.tls.private_key",
		Message: "the private key would be visible in output: write !env NAME, which reads it from an environment variable, !secret TEXT, or private_key_file"}}
}

// checkProxyTLS checks the settings of the certificate. Its content is checked by [ProxyTLS.Check].
func (c *checker) checkProxyTLS() {
	const key = "cluster.proxy.tls"
	s := c.spec.Proxy.TLS
	if !s.Used() {
		if s.PrivateKey != "" {
			c.add("missing-certificate", key+".certificate", "there is a private key and no certificate: write it as certificate, or its file as certificate_file, or remove the key")
		}
		return
	}
	if c.spec.Proxy.Kind != ProxyHAProxy {
		c.add("tls-of-nginx", key, "only haproxy ends TLS here: set proxy.kind: haproxy, or remove tls")
	}
	if !slices.ContainsFunc(c.hosts, func(h Host) bool { return h.has(RoleProxy) }) {
		c.add("unused-tls", key, "no host has the role proxy, whose hosts would serve the API with this certificate: give it to a host, or remove tls")
	}
	if s.PrivateKey == "" {
		c.add("missing-key", key+".private_key", "write the private key as !env NAME or !secret TEXT, or its file as private_key_file")
	}
}
