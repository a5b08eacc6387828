package requests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/report"
)

// Require is the action `external_certificates`: it ends a run before its first change when
// the directory of requests lacks a certificate of an external authority that a host needs,
// or has one that differs from the request.
type Require struct {
	Found     string `yaml:"found" rule:"variable" doc:"Name under which the hosts registered cert_check." required:"true"`
	Installed bool   `yaml:"installed" doc:"The run installs no certificates: they must be on the hosts already, and a working certificate may differ from the inventory or expire soon. Default false."`
}

// Missing is the error of a run in which hosts lack certificates.
type Missing struct {
	Rows      []report.Row
	Installed bool // as in Require: the certificates must be on the hosts
}

func (m *Missing) Error() string { return m.summary() + "\n" + report.Table(m.Rows) }

// Unwrap returns the error as an *engine.Failure.
func (m *Missing) Unwrap() error {
	return &engine.Failure{Message: m.summary(), Detail: report.Table(m.Rows)}
}

func (m *Missing) summary() string {
	install := ""
	if m.Installed {
		install = "install the certificates with deployer certs renew, "
	}
	return fmt.Sprintf("certificates of external authorities are missing or wrong on hosts: %d; nothing was changed. "+
		"Write the requests with deployer certs requests, have them signed, %sand repeat the command", report.Hosts(m.Rows), install)
}

// ReadOnly returns true: the action changes nothing.
func (*Require) ReadOnly() bool { return true }

// Check compares the certificates of hosts with those that the authorities have issued.
func (r *Require) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	var rows []report.Row
	for _, host := range actx.Targets() {
		out := actionctx.Registered(actx, host, r.Found)
		if out == nil {
			continue
		}
		list, err := installed(out)
		if err != nil {
			return engine.Change{}, fmt.Errorf("checking the certificates of %s: %w", host, err)
		}
		for _, cert := range c.ExternalCertificates(host) {
			state, ok := list[cert.CertPath]
			if !ok {
				continue
			}
			problem := state.unusable()
			if !r.Installed {
				issued, found := c.IssuedFor(host, cert)
				problem = state.problem(issued, found)
			}
			if problem != "" {
				rows = append(rows, report.Bad("certificate "+cert.Name, host, "%s", problem))
			}
		}
	}
	report.Sort(rows)
	if len(rows) > 0 {
		return engine.NoChange(report.Output(rows)), &Missing{rows, r.Installed}
	}
	return engine.NoChange(report.Output(rows)), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Require) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// hostState is a certificate in the output of the module cert_check.
type hostState struct {
	Path      string    `json:"path"`
	State     string    `json:"state"`
	Detail    string    `json:"detail"`
	Expires   time.Time `json:"expires"`
	PublicKey string    `json:"public_key"` // SHA-256; empty when the host has no key
}

func installed(out engine.Output) (map[string]hostState, error) {
	var found struct {
		Certificates []hostState `json:"certificates"`
	}
	if err := out.Decode(&found); err != nil {
		return nil, err
	}
	byPath := map[string]hostState{}
	for _, s := range found.Certificates {
		byPath[s.Path] = s
	}
	return byPath, nil
}

// unusable returns the reason why processes cannot use the certificate of the host; empty
// when they can.
func (s hostState) unusable() string {
	switch s.State {
	case cluster.CertificateMissing, cluster.CertificateExpired, cluster.CertificateAuthority, "damaged":
		return s.Detail
	}
	return ""
}

// problem returns the reason why a run cannot give a host its certificate; empty when the
// host has the certificate or can get it. A certificate that expires soon is a problem only
// when the directory has a successor that cannot be installed.
func (s hostState) problem(issued cluster.IssuedCertificate, found bool) string {
	needed := true
	switch s.State {
	case cluster.CertificateOK, "access":
		return ""
	case cluster.CertificateExpiring:
		needed = false
		if !found || issued.Cert != nil && !issued.Cert.NotAfter.After(s.Expires) {
			return ""
		}
	case "outdated": // the directory has a newer, valid certificate
		needed = false
	}
	switch {
	case !found && s.PublicKey == "":
		return s.Detail + ", and the host has no key yet"
	case !found:
		return s.Detail + ", and none is issued"
	case issued.Fault != nil && needed:
		return fmt.Sprintf("%s, and %s cannot be installed: %v", s.Detail, issued.File, issued.Fault)
	case issued.Fault != nil:
		return fmt.Sprintf("%s cannot be installed: %v", issued.File, issued.Fault)
	}
	sum := sha256.Sum256(issued.Cert.RawSubjectPublicKeyInfo)
	if hex.EncodeToString(sum[:]) != s.PublicKey {
		return fmt.Sprintf("%s is for another key than that of the host", issued.File)
	}
	return ""
}
