package renewal

import (
	"context"

	"deployer/keeper/certificates"
	"deployer/keeper/world"
	"deployer/tasks/certificate"
)

// Look reads the certificates of this host, each compared with what it has to be.
func (r Renewal) Look(ctx context.Context) ([]world.Certificate, error) {
	own := r.Own
	found, err := certificates.Look(ctx, r.system(), &certificate.Checks{Certificates: own.Certificates, Paths: own.Authorities, RenewBefore: own.RenewBefore})
	if err != nil {
		return nil, err
	}
	external := map[string]bool{}
	for _, name := range own.External {
		external[name] = true
	}
	authority := map[string]string{} // by name of the certificate
	for _, w := range own.Certificates {
		authority[w.Name] = w.Authority
	}
	out := make([]world.Certificate, len(found))
	for i, f := range found {
		out[i] = world.Certificate{Name: f.Name, Path: f.Path, State: f.State, Detail: f.Detail, Expires: f.Expires, External: external[authority[f.Name]]}
	}
	return out, nil
}
