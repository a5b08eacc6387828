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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/certnames"
	"deployer/engine/sanitize"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
)

const (
	// maxRequests is the number of requests that are looked at. Kubernetes removes those that are decided on after an
	// hour, and all others after a day: a thousand nodes of a day have some 4000.
	maxRequests = 20000
	// maxOfNode is the number of requests of one node that are looked at. It has a handful of certificates.
	maxOfNode = 32
	// maxRequest is the maximum size in bytes of a signing request. Those of nodes have less than 1 KiB.
	maxRequest = 64 << 10
)

// CertificateRequestKind is the kind of requests for certificates.
func CertificateRequestKind() schema.GroupVersionKind {
	return certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")
}

// errTooMany is the error of more than maxRequests requests.
var errTooMany = fmt.Errorf("there are more than %d requests for certificates: delete those that nobody needs", maxRequests)

// CertificateRequests returns the requests that nodes made, that nobody has decided on, and that keep selects. It reads
// them page by page, because each can have more than a megabyte, and no more than maxOfNode of one node, so that none
// can hide the requests of others. It fails, with those that it has read, when there are too many.
func CertificateRequests(ctx context.Context, c *kube.Client, keep func(world.CertificateRequest) bool) (out []world.CertificateRequest, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	seen, ofNode, count := map[string]bool{}, map[string]int{}, 0
	resource := certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
	err = kube.EachOf(ctx, c, resource, func(r *certificatesv1.CertificateSigningRequest) {
		if count++; count > maxRequests {
			stop(errTooMany)
			return
		}
		decided := len(r.Status.Conditions) > 0 || len(r.Status.Certificate) > 0
		if decided || seen[string(r.UID)] || !decide.FromNode(r.Spec.Username, r.Spec.Groups) || ofNode[r.Spec.Username] == maxOfNode {
			return
		}
		seen[string(r.UID)] = true
		if read := readRequest(*r); keep(read) {
			ofNode[r.Spec.Username]++
			out = append(out, read)
		}
	})
	if errors.Is(context.Cause(ctx), errTooMany) {
		return out, errTooMany
	}
	return out, err
}

// goodName matches the names of requests that are looked at: Kubernetes allows nearly any character.
var goodName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)

func readRequest(r certificatesv1.CertificateSigningRequest) world.CertificateRequest {
	out := world.CertificateRequest{Name: r.Name, UID: string(r.UID), Signer: r.Spec.SignerName, User: r.Spec.Username, Groups: r.Spec.Groups, Created: r.CreationTimestamp.Time}
	for _, u := range r.Spec.Usages {
		out.Usages = append(out.Usages, string(u))
	}
	switch {
	case !goodName.MatchString(r.Name):
		out.Fault = "its name is not one of an object (RFC 1123)"
		return out
	case len(r.Spec.Request) > maxRequest:
		out.Fault = fmt.Sprintf("it has %d bytes", len(r.Spec.Request))
		return out
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
// roots its authority. It connects to each kubelet once.
func ReadServing(ctx context.Context, dial Dial, roots *x509.CertPool, nodes []world.Node, requests []world.CertificateRequest) {
	served := map[string]*world.Serving{} // by user
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for i := range requests {
		r := &requests[i]
		at := slices.IndexFunc(nodes, func(n world.Node) bool { return r.User == "system:node:"+n.Name })
		if r.Signer != decide.SignerServing || at < 0 || nodes[at].Master {
			continue
		}
		if r.Serving = served[r.User]; r.Serving != nil {
			continue
		}
		serving := &world.Serving{}
		served[r.User], r.Serving = serving, serving
		group.Go(func() error {
			*serving = readServing(ctx, dial, roots, nodes[at])
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
		return world.Serving{Fault: "the certificate that the kubelet serves is not known: " + foreign(err)}
	}
	return world.Serving{CN: cert.Subject.CommonName, DNS: cert.DNSNames, IPs: certnames.Addresses(cert.IPAddresses)}
}

// maxForeign is the number of bytes of an error that has texts of somebody else.
const maxForeign = 300

// foreign returns an error that has texts of somebody else, without control characters.
func foreign(err error) string {
	text := err.Error()
	return sanitize.Text(text[:min(len(text), maxForeign)])
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
