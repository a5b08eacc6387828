package project

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/cluster/external"
)

// readExternalAuthorities reads the certificates of the authorities whose keys are outside
// of the cluster, and those that they have issued. A file that is no authority is an error
// with its line and that of the inventory; an issued certificate with a fault is not, as
// another one may not be needed.
func (p *Project) readExternalAuthorities(now time.Time) error {
	ext := &p.Cluster.ExternalAuthorities
	ext.Requests = p.besideInventory(ext.Requests)
	ext.Certificates = map[string][]byte{}
	authorities := map[string][]*x509.Certificate{}
	var problems cluster.Problems
	for _, name := range ext.Names {
		file := p.besideInventory(ext.Files[name])
		data, err := p.recorder.readFile(file)
		if errors.Is(err, ErrOutside) {
			continue // the deploy reads it
		}
		if err == nil {
			if authorities[name], err = external.ParseAuthority(data, now); err != nil {
				err = fmt.Errorf("%s: %w", Relative(file), err)
			}
		}
		if err != nil {
			problems = append(problems, cluster.Problem{
				Code: "bad-authority", Subject: "cluster.certificates.external_authorities." + strings.ReplaceAll(name, "-", "_"), Message: err.Error(),
			})
		}
		ext.Certificates[name] = data
	}
	if len(problems) > 0 {
		return withPositions(p.Inventory, problems)
	}
	return p.readIssued(authorities, now)
}

// readIssued reads the certificates that external authorities have issued for the
// hosts of the cluster. The run installs one that is newer than the certificate on
// the host.
func (p *Project) readIssued(authorities map[string][]*x509.Certificate, now time.Time) error {
	ext := &p.Cluster.ExternalAuthorities
	ext.Issued = map[string]cluster.IssuedCertificate{}
	for host, node := range p.Cluster.Nodes {
		for i, want := range node.Certificates {
			if authorities[want.Authority] == nil {
				continue
			}
			path := cluster.RequestPath(host, want)
			issued := cluster.IssuedCertificate{File: filepath.Join(ext.Requests, filepath.FromSlash(path)+".crt")}
			var err error
			if issued.PEM, err = p.recorder.readFile(issued.File); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			var key any
			if request, err := p.recorder.readFile(filepath.Join(ext.Requests, filepath.FromSlash(path)+".csr")); err == nil {
				if key, err = external.CheckRequest(want, request); err != nil {
					key = nil // the names of the host have changed; the certificate is compared with them
				}
			}
			issued.Cert, issued.Fault = external.Verify(want, issued.PEM, key, authorities[want.Authority], now)
			ext.Issued[path] = issued
			if issued.Fault == nil {
				node.Certificates[i].IssuedBefore = issued.Cert.NotBefore.UTC().Format(time.RFC3339)
			}
		}
	}
	return nil
}

// besideInventory returns the path of a file that the inventory names, relative to its
// directory.
func (p *Project) besideInventory(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Inventory.Dir, path)
}
