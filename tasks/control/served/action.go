// Package served has the gate for renewed certificates: each process of a host that
// serves one must serve the one that is in its file. The package connects as a client does, through
// the host's SSH connection, and compares the certificate of the TLS handshake.
package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/certificate"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/handshake"
	"deployer/tasks/poll"
)

// Served is the action `certificates_served`.
type Served struct {
	Names   []string      `yaml:"names" rule:"word" doc:"Names of certificates as in host.certificates; default: all that processes of the host serve."`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 2m. API servers and kubelets read their files at least once a minute."`
}

// NewServed returns the action with its defaults.
func NewServed() *Served { return &Served{Timeout: 2 * time.Minute} }

// Gate repeats the wait after a revert, when the files are the former ones again.
func (s *Served) Gate() any { return s }

const pollEvery = time.Second

// Check waits until every process serves the certificate of its file, except in a dry
// run. The output field `served` has the names.
func (s *Served) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	var names []string
	for _, cert := range cluster.ServedCertificates(c, actx.Host()) {
		if !s.wants(cert.Name) {
			continue
		}
		names = append(names, cert.Name)
		if actx.CheckOnly() {
			continue
		}
		err := poll.Until(ctx, s.Timeout, pollEvery, func(ctx context.Context) (string, bool, error) {
			reason := compare(ctx, actx, cert)
			if reason == nil {
				return "", true, nil
			}
			return reason.Error(), false, nil
		})
		if err != nil {
			return engine.Change{}, fmt.Errorf("waiting until %s serves the certificate %s: %w", cert.Address, cert.Path, err)
		}
	}
	return engine.NoChange(engine.Output{"served": names}), nil
}

// Apply is never called.
func (*Served) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (s *Served) wants(name string) bool {
	return len(s.Names) == 0 || slices.Contains(s.Names, name)
}

// compare returns nil when the address serves the certificate of the file.
func compare(ctx context.Context, actx engine.ActionContext, cert cluster.ServedCertificate) error {
	want, err := fingerprint(ctx, actx, cert.Path)
	if err != nil {
		return err
	}
	got, err := handshake.Certificate(ctx, func(ctx context.Context, network, address string) (net.Conn, error) {
		return actx.Dial(ctx, actx.Host(), network, address)
	}, cert.Address)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(got.Raw)
	if hex.EncodeToString(sum[:]) != want {
		return fmt.Errorf("%s serves another certificate, which expires on %s", cert.Address, got.NotAfter.UTC().Format(time.DateOnly))
	}
	return nil
}

// fingerprint returns the SHA-256 of the certificate in a file of the host, as hex.
func fingerprint(ctx context.Context, actx engine.ActionContext, path string) (string, error) {
	res, err := actx.RunOn(ctx, actx.Host(), "cert_check", &certificate.Checks{Paths: []string{path}})
	if err == nil && res.Failure != nil {
		err = res.Failure
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	list, _ := res.Output["certificates"].([]any)
	for _, item := range list {
		row, _ := item.(map[string]any)
		if sum, _ := row["fingerprint"].(string); sum != "" {
			return sum, nil
		}
	}
	return "", fmt.Errorf("%s has no certificate that can be read", path)
}
