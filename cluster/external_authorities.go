package cluster

import (
	"crypto/x509"
	"slices"
	"strings"
)

// ExternalAuthoritiesSpec is the `cluster.certificates.external_authorities:` section.
type ExternalAuthoritiesSpec struct {
	Cluster    string `yaml:"cluster" doc:"File with the certificate of the authority that signs certificates of API servers, kubelets and clients of the API. Default: deployer makes the authority and keeps its key on the masters."`
	Etcd       string `yaml:"etcd" doc:"As cluster, for the authority of etcd's members and clients."`
	FrontProxy string `yaml:"front_proxy" doc:"As cluster, for the authority of the certificate with which API servers call extension API servers."`
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
	Names    []string          `json:"names"` // cluster, etcd, front-proxy; sorted
	Requests string            `json:"-"`     // directory on the controller for requests and issued certificates
	Files    map[string]string `json:"-"`     // of the authorities' certificates on the controller, by name

	// Certificates and Issued are the contents of the files; the program that resolves the
	// cluster reads them.
	Certificates map[string][]byte            `json:"-"` // PEM by authority; the one that signs comes first
	Issued       map[string]IssuedCertificate `json:"-"` // by RequestPath
}

// IssuedCertificate is the file of a certificate in the directory of requests.
type IssuedCertificate struct {
	File  string            // on the controller
	PEM   []byte            // its content
	Cert  *x509.Certificate // nil when it cannot be read
	Fault error             // why it cannot be installed; nil when it fits the table of certificates
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
