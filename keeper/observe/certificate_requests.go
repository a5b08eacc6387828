package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/certnames"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

// maxRequests is the number of requests of a signer that are looked at, of some 3 kB each. Kubernetes removes
// those that are decided on after an hour, and all others after a day.
const maxRequests = 1000

// CertificateRequestKind is the kind of requests for certificates.
func CertificateRequestKind() schema.GroupVersionKind {
	return certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")
}

// CertificateRequests returns the requests for certificates of nodes that nobody has decided on. It fails, with
// those that it has read, when there are too many.
func CertificateRequests(ctx context.Context, c *kube.Client) (out []world.CertificateRequest, err error) {
	for _, signer := range []string{decide.SignerServing, decide.SignerClient} {
		list, err := kube.ListAs[certificatesv1.CertificateSigningRequest](ctx, c, CertificateRequestKind(), "", v1.ListOptions{FieldSelector: "spec.signerName=" + signer, Limit: maxRequests})
		if err != nil {
			return out, fmt.Errorf("listing requests for certificates: %w", err)
		}
		for _, r := range list {
			if len(r.Status.Conditions) == 0 && len(r.Status.Certificate) == 0 {
				out = append(out, readRequest(r))
			}
		}
		if len(list) == maxRequests {
			return out, fmt.Errorf("there are more than %d requests of signer %s: delete those that nobody needs", maxRequests-1, signer)
		}
	}
	return out, nil
}

func readRequest(r certificatesv1.CertificateSigningRequest) world.CertificateRequest {
	out := world.CertificateRequest{Name: r.Name, UID: string(r.UID), Signer: r.Spec.SignerName, User: r.Spec.Username, Groups: r.Spec.Groups, Created: r.CreationTimestamp.Time}
	for _, u := range r.Spec.Usages {
		out.Usages = append(out.Usages, string(u))
	}
	block, rest := pem.Decode(r.Spec.Request)
	if block == nil || len(strings.TrimSpace(string(rest))) > 0 {
		out.Fault = "it is not one signing request in PEM form"
		return out
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		out.Fault = "its signing request is not valid"
		return out
	}
	out.CN, out.Orgs, out.DNS, out.IPs = csr.Subject.CommonName, csr.Subject.Organization, csr.DNSNames, certnames.Addresses(csr.IPAddresses)
	out.Fault = faultOf(csr)
	return out
}

// The extensions that a signing request of a node may have (RFC 5280, 4.2.1.6 and 4.2.1.12).
var knownExtensions = []string{"2.5.29.17", "2.5.29.37"}

// faultOf returns what a signing request asks for besides a common name, organizations, DNS names and addresses.
func faultOf(csr *x509.CertificateRequest) string {
	switch {
	case len(csr.Subject.Names) != 1+len(csr.Subject.Organization):
		return "its subject has more than one common name and organizations"
	case len(csr.EmailAddresses) > 0:
		return "it asks for e-mail addresses"
	case len(csr.URIs) > 0:
		return "it asks for URIs"
	}
	for _, e := range csr.Extensions {
		switch {
		case !slices.Contains(knownExtensions, e.Id.String()):
			return "it asks for extension " + e.Id.String()
		case e.Id.String() == knownExtensions[0] && countNames(e.Value) != len(csr.DNSNames)+len(csr.IPAddresses):
			return "it asks for names that are neither DNS names nor addresses"
		}
	}
	return ""
}

// countNames returns the number of names in the extension subjectAltName; -1 when it cannot be read.
func countNames(der []byte) int {
	var names []asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &names); err != nil || len(rest) > 0 {
		return -1
	}
	return len(names)
}

// ReadServing adds to requests of kubelets the certificates that these serve now. nodes are those of the cluster, and
// roots its authority.
func ReadServing(ctx context.Context, dial Dial, roots *x509.CertPool, nodes []world.Node, requests []world.CertificateRequest) {
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for i := range requests {
		r := &requests[i]
		at := slices.IndexFunc(nodes, func(n world.Node) bool { return r.User == "system:node:"+n.Name })
		if r.Signer != decide.SignerServing || at < 0 || nodes[at].Master {
			continue
		}
		group.Go(func() error {
			serving := readServing(ctx, dial, roots, nodes[at])
			r.Serving = &serving
			return nil
		})
	}
	_ = group.Wait()
}

// servingTimeout is the maximum duration of a connection to a kubelet and its handshake.
const servingTimeout = 5 * time.Second

// readServing returns the certificate that the kubelet of a node serves. The handshake is complete, so that it has
// the key.
func readServing(ctx context.Context, dial Dial, roots *x509.CertPool, n world.Node) world.Serving {
	ctx, cancel := context.WithTimeout(ctx, servingTimeout)
	defer cancel()
	cert, err := verified(ctx, dial, net.JoinHostPort(n.Address, strconv.Itoa(kubeletPort)), &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: n.Name})
	if err != nil {
		if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
			return world.Serving{Fault: "the certificate that the kubelet serves has expired, so that it proves nothing: deployer certs renew"}
		}
		return world.Serving{Fault: "the certificate that the kubelet serves is not known: " + err.Error()}
	}
	return world.Serving{CN: cert.Subject.CommonName, DNS: cert.DNSNames, IPs: certnames.Addresses(cert.IPAddresses)}
}

// verified returns the certificate of a server that passes the settings.
func verified(ctx context.Context, dial Dial, address string, config *tls.Config) (*x509.Certificate, error) {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	return client.ConnectionState().PeerCertificates[0], nil
}
