package noderenewal

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"deployer/engine/sanitize"
	"deployer/tasks/certificate"
)

// signingRequest is the part of a CertificateSigningRequest (certificates.k8s.io/v1) that a node uses.
type signingRequest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Spec       requestSpec       `json:"spec"`
	Status     requestConditions `json:"status,omitzero"`
}

type metadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type requestSpec struct {
	Request    []byte   `json:"request"` // PEM
	SignerName string   `json:"signerName"`
	Usages     []string `json:"usages"`
	Username   string   `json:"username,omitempty"` // set by the API
}

type requestConditions struct {
	Conditions  []condition `json:"conditions,omitempty"`
	Certificate []byte      `json:"certificate,omitempty"` // PEM
}

type condition struct {
	Type    string `json:"type"` // Approved, Denied or Failed
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// maxNode is the number of characters of a node's name in the name of a request, which has at most 253.
const maxNode = 150

// newRequest returns the request for a certificate by a signing request in PEM form. Its name depends on all
// that is asked for, and on the certificate that it replaces: a node that was interrupted finds its request of
// before, and one that renews again does not.
func newRequest(node string, w certificate.Want, csr, former []byte) (signingRequest, error) {
	signer, usage, ok := signerOf(w)
	if !ok {
		return signingRequest{}, fmt.Errorf("no signer of Kubernetes signs certificate %s", w.Name)
	}
	asked, err := askedFor(csr)
	if err != nil {
		return signingRequest{}, err
	}
	sum := sha256.New()
	sum.Write(asked)
	sum.Write(former)
	short := strings.TrimRight(node[:min(len(node), maxNode)], ".-")
	return signingRequest{
		APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest",
		Metadata: metadata{Name: fmt.Sprintf("deployer-%s-%s-%s", short, w.Name, hex.EncodeToString(sum.Sum(nil)[:8]))},
		Spec:     requestSpec{Request: csr, SignerName: signer, Usages: []string{"digital signature", usage}},
	}, nil
}

// askedFor returns what a signing request asks for, without its signature, which differs each time.
func askedFor(csr []byte) ([]byte, error) {
	block, _ := pem.Decode(csr)
	if block == nil {
		return nil, errors.New("the signing request is no PEM")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the signing request: %w", err)
	}
	return parsed.RawTBSCertificateRequest, nil
}

// isOf fails when a request that has the name of ours asks for something else, or somebody else made it.
func (r signingRequest) isOf(node string, ours signingRequest) error {
	want, err := askedFor(ours.Spec.Request)
	if err != nil {
		return err
	}
	have, err := askedFor(r.Spec.Request)
	if err != nil || !bytes.Equal(have, want) || r.Spec.SignerName != ours.Spec.SignerName || r.Spec.Username != "system:node:"+node {
		return fmt.Errorf("CertificateSigningRequest %s is not the one of this node: look who made it, and delete it", ours.Metadata.Name)
	}
	return nil
}

// outcome returns the certificate that was issued; nil while there is none, with what is waited for. It fails
// when nobody will issue one.
func (r signingRequest) outcome() (cert []byte, waits string, err error) {
	waits = "nobody has approved it: deployer keeper status says why the keeper did not"
	for _, c := range r.Status.Conditions {
		because := sanitize.Text(strings.TrimSpace(c.Reason + " " + c.Message))
		switch c.Type {
		case "Denied":
			return nil, "", fmt.Errorf("CertificateSigningRequest %s was denied: %s", r.Metadata.Name, because)
		case "Failed":
			return nil, "", fmt.Errorf("CertificateSigningRequest %s was not signed: %s", r.Metadata.Name, because)
		case "Approved":
			waits = "it is approved, and not signed: does the controller manager work?"
		}
	}
	if len(r.Status.Certificate) == 0 {
		return nil, waits, nil
	}
	block, _ := pem.Decode(r.Status.Certificate)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, "", fmt.Errorf("CertificateSigningRequest %s was answered by something that is no certificate", r.Metadata.Name)
	}
	return pem.EncodeToMemory(block), "", nil
}
