package cluster

import (
	"crypto/x509"
	"slices"
	"strings"
)

// ExternalAuthoritiesSpec is the `cluster.certificates.external_authorities:` section.
type ExternalAuthoritiesSpec struct {
	Cluster    string `yaml:"cluster" doc:"File with the certificate of the authority that signs certificates of API servers, kubelets and clients of the API. Default: deployer makes the authority and keeps its key on the masters."`
	Etcd       string `yaml:"etcd" doc:"File with the certificate of the authority that signs certificates of etcd's members and clients. Default: deployer makes the authority and keeps its key on the masters."`
	FrontProxy string `yaml:"front_proxy" doc:"File with the certificate of the authority that signs the certificate with which API servers call extension API servers. Default: deployer makes the authority and keeps its key on the masters."`
	Requests   string `yaml:"requests" default:"certificate-requests" doc:"Directory for the requests that deployer certs requests writes, and for the certificates that the authorities have issued. Paths are relative to the inventory."`
}

// certificateRequests is the default directory of requests.
const certificateRequests = "certificate-requests"

// Authorities lists the names of all authorities.
func Authorities() []string {
	return []string{AuthorityCluster, AuthorityEtcd, AuthorityFrontProxy}
}

func (s ExternalAuthoritiesSpec) resolve() ExternalAuthorities {
	out := ExternalAuthorities{Names: []string{}, Requests: s.Requests, Files: map[string]string{}}
	for name, file := range map[string]string{AuthorityCluster: s.Cluster, AuthorityEtcd: s.Etcd, AuthorityFrontProxy: s.FrontProxy} {
		if file != "" {
			out.Files[name] = file
			out.Names = append(out.Names, name)
		}
	}
	slices.Sort(out.Names)
	return out
}

// ExternalAuthorities are the authorities whose keys are outside of the cluster: neither a
// host nor the controller has them. Their owner signs the requests of hosts.
type ExternalAuthorities struct {
	Names    []string          `json:"names"` // names of the external authorities, sorted: cluster, etcd, front-proxy
	Requests string            `json:"-"`     // directory on the controller for requests and issued certificates
	Files    map[string]string `json:"-"`     // paths of the authorities' certificates on the controller, by name

	// Certificates and Issued are the contents of the files; the program that resolves the
	// cluster reads them.
	Certificates map[string][]byte            `json:"-"` // certificates in PEM form by authority; the first one signs
	Issued       map[string]IssuedCertificate `json:"-"` // issued certificates by RequestPath
}

// IssuedCertificate is the file of a certificate in the directory of requests.
type IssuedCertificate struct {
	File  string            // path on the controller
	PEM   []byte            // content of the file
	Cert  *x509.Certificate // parsed certificate; nil when the file cannot be read
	Fault error             // reason why the certificate cannot be installed; nil when it matches the table of certificates
}

// External reports whether the key of an authority is outside of the cluster.
func (c *Cluster) External(authority string) bool {
	return slices.Contains(c.ExternalAuthorities.Names, authority)
}

// RequestPath returns the path of a request below the directory of requests, without the
// ending: AUTHORITY/HOST/NAME.
func RequestPath(host string, cert Certificate) string {
	return cert.Authority + "/" + host + "/" + strings.ReplaceAll(cert.Name, "/", "-")
}

// IssuedFor returns the certificate that an external authority has issued for a host; false
// when there is no file.
func (c *Cluster) IssuedFor(host string, cert Certificate) (IssuedCertificate, bool) {
	issued, ok := c.ExternalAuthorities.Issued[RequestPath(host, cert)]
	return issued, ok
}

// ExternalCertificates lists the certificates of a host that external authorities issue.
func (c *Cluster) ExternalCertificates(host string) []Certificate {
	return slices.DeleteFunc(slices.Clone(c.Nodes[host].Certificates), func(cert Certificate) bool { return !c.External(cert.Authority) })
}
