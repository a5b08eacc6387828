package renewal

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/certificates"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/host"
	"deployer/tasks/certificate"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// Renewal renews certificates of this host.
type Renewal struct {
	Host     string
	Root     string // before every path; empty except in tests
	Own      config.Own
	API      string // address and port of the API server of this host
	Kube     *kube.Client
	Open     etcd.Opener
	Members  []etcd.Host
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Progress func(string)

	served time.Duration // maximum wait until a server has read its files; 0: [certificates.ServedTimeout]
}

// Run renews the certificates with these names, restarts what reads them only when it starts, and proves
// that all processes use them and serve. When a proof fails, the former files return, unless one of them
// has expired. Without names only processes that began before their certificate restart.
func (r Renewal) Run(ctx context.Context, names []string) error {
	sys := r.system()
	now := r.serving(ctx)
	found, err := r.Look(ctx)
	if err != nil {
		return fmt.Errorf("reading the certificates of this host: %w", err)
	}
	expired := false
	for _, c := range found {
		expired = expired || c.State == cluster.CertificateExpired && slices.Contains(names, c.Name)
	}
	module := &certificate.Certificates{RenewBefore: decide.Together(r.Own.RenewBefore)}
	for _, w := range r.Own.Certificates {
		if slices.Contains(names, w.Name) {
			module.Certificates = append(module.Certificates, w)
		}
	}
	return certificates.Attempt(ctx, sys, expired, func(ctx context.Context) error {
		change, err := module.Check(ctx, sys)
		if err == nil && change.Needed {
			_, err = module.Apply(ctx, sys, change)
		}
		return err
	}, func(ctx context.Context) error { return r.use(ctx, sys, now) })
}

// Stale returns the processes that began before their certificate.
func (r Renewal) Stale(ctx context.Context) ([]string, error) {
	sys := r.system()
	var out []string
	for _, p := range certificates.Processes(r.Own.Certificates) {
		change, err := p.Restart.Check(ctx, sys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if change.Needed {
			out = append(out, p.Name)
		}
	}
	return out, nil
}

func (r Renewal) system() *host.System {
	sys := &host.System{Name: r.Host, Root: r.Root, Say: r.Progress}
	sys.Methods = map[string]func(ctx context.Context, in, out any) error{
		"certificate.sign": func(ctx context.Context, in, out any) error { return r.sign(ctx, sys, in, out) },
	}
	return sys
}

// has reports whether this host has a certificate of that name.
func (r Renewal) has(name string) bool {
	return slices.ContainsFunc(r.Own.Certificates, func(w certificate.Want) bool { return w.Name == name })
}

// path returns the path of a certificate.
func (r Renewal) path(name string) string {
	at := slices.IndexFunc(r.Own.Certificates, func(w certificate.Want) bool { return w.Name == name })
	return r.Own.Certificates[at].CertPath
}
