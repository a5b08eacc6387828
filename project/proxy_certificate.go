package project

import (
	"errors"
	"time"

	"deployer/cluster"
	"deployer/inventory"
)

// proxyTLSKey is the section of the inventory with the certificate of the proxies.
const proxyTLSKey = "cluster.proxy.tls."

// readProxyCertificate reads the files of the certificate with which proxies end TLS. The private key
// becomes a secret of the inventory. A file that files may not open gives the placeholder. Its errors are
// cluster.Problems.
func readProxyCertificate(inv *inventory.Inventory, s *cluster.ProxyTLSSpec, files sourceFiles) error {
	var problems cluster.Problems
	fromFile := s.PrivateKeyFile != ""
	for _, f := range []struct {
		setting    string
		text, file *string
	}{{"certificate", &s.Certificate, &s.CertificateFile}, {"private_key", &s.PrivateKey, &s.PrivateKeyFile}} {
		if *f.file == "" {
			continue
		}
		content, err := readBeside(inv, *f.file, files)
		if *f.text != "" {
			err = errors.New(f.setting + " and " + f.setting + "_file exclude each other: remove one")
		}
		if err != nil {
			problems = append(problems, cluster.Problem{Code: "bad-certificate", Subject: proxyTLSKey + f.setting + "_file", Message: err.Error()})
		}
		*f.text, *f.file = content, ""
	}
	if len(problems) > 0 {
		return problems
	}
	if fromFile {
		inv.AddSecret(s.PrivateKey)
	}
	return nil
}

// checkProxyCertificate checks the certificate with which proxies end TLS, unless a part of it is known to
// the deploy only.
func (p *Project) checkProxyCertificate(now time.Time) error {
	t := p.Cluster.Proxy.TLS
	if t == nil || t.Chain == placeholder || t.PrivateKey == placeholder || p.IsPlaceholder != nil && p.IsPlaceholder(t.PrivateKey) {
		return nil
	}
	if err := t.Check(now); err != nil {
		return withPositions(p.Inventory, cluster.Problems{{Code: "bad-certificate", Subject: "cluster.proxy.tls", Message: "the certificate cannot be used: " + err.Error()}})
	}
	return nil
}
