package renewal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/keeper/certificates"
	"deployer/keeper/host"
	"deployer/tasks/certificate"
	"deployer/tasks/control/keyring"
)

// sign answers the request of module certificate, which a controller answers in runs: the authorities on
// this host sign.
func (r Renewal) sign(ctx context.Context, sys *host.System, in, out any) error {
	var request struct{ Name, CSR string }
	if err := certificates.Pass(in, &request); err != nil {
		return err
	}
	keys, err := r.keys(ctx, sys)
	if err != nil {
		return fmt.Errorf("reading the authorities of this host: %w", err)
	}
	signed, err := keys.SignRequest(r.wanted, r.Host, request.Name, []byte(request.CSR), time.Now())
	if err != nil {
		return err
	}
	return certificates.Pass(map[string]string{"cert": string(signed)}, out)
}

// keys returns the authorities that this host holds.
func (r Renewal) keys(ctx context.Context, sys *host.System) (*keyring.Keys, error) {
	read, err := (&certificate.CARead{}).Check(ctx, sys)
	if err != nil {
		return nil, err
	}
	files := keyring.FilesOf(read.Output)
	if files[keyring.ClusterCert] == nil {
		return nil, fmt.Errorf("%s does not exist", keyring.ClusterCert) // else Complete would make an authority
	}
	keys, _, err := keyring.Complete(files, time.Now(), 0, keyring.ExternalIn(files, r.Own.External))
	return keys, err
}

// wanted returns what a certificate of this host has to be.
func (r Renewal) wanted(host, name string) (keyring.Certificate, bool) {
	at := slices.IndexFunc(r.Own.Certificates, func(w certificate.Want) bool { return w.Name == name })
	if host != r.Host || at < 0 {
		return keyring.Certificate{}, false
	}
	w := r.Own.Certificates[at]
	spec := keyring.SpecOf(cluster.Certificate{Name: w.Name, Authority: w.Authority, CN: w.CN, Orgs: w.Orgs, DNS: w.DNS, IPs: w.IPs, Usages: w.Usages})
	spec.Validity = r.Own.LeafLifetime
	return spec, true
}
