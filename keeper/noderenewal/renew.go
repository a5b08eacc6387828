package noderenewal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"deployer/engine/agent/statedir"
	"deployer/engine/lock"
	"deployer/keeper/certificates"
	"deployer/keeper/host"
	"deployer/tasks/certificate"
	"deployer/tasks/hostfile"
)

// Options are what a [Renewal] has besides its configuration.
type Options struct {
	Root     string // before every path of the host; empty except in tests
	StateDir string // state directory of the host, which has the run lock
	Say      func(string)
}

// Renewal renews certificates of this node.
type Renewal struct {
	Config
	Options

	api  *api
	lock *statedir.RunLock

	wait      time.Duration // maximum wait for signatures; 0: signTimeout
	served    time.Duration // maximum wait until the kubelet has read its file; 0: [certificates.ServedTimeout]
	kubelet   string        // address of the kubelet; empty: by the configuration
	processes func([]certificate.Want) []certificates.Process
}

// portKubelet is the port of the kubelet.
const portKubelet = "10250"

// New returns a renewal. It opens no connection.
func New(c Config, o Options) (*Renewal, error) {
	api, err := newAPI(c.API)
	if err != nil {
		return nil, err
	}
	c.Certificates = slices.Clone(c.Certificates)
	for i := range c.Certificates {
		c.Certificates[i].Rotated = "" // the kubelet renews that one, and reads the first one when it has none
	}
	return &Renewal{Config: c, Options: o, api: api, lock: statedir.Open(o.StateDir).RunLock(), processes: certificates.Processes}, nil
}

// Run renews the certificates that are due, with those that would be soon, restarts what began before its
// certificate, and proves that all of it works. It changes nothing while a run of deployer has the lock of
// this host: then it fails with a *lock.Held.
func (r *Renewal) Run(ctx context.Context) error {
	found, err := certificates.Look(ctx, r.system(), &certificate.Checks{Certificates: r.Certificates, RenewBefore: r.RenewBefore})
	if err != nil {
		return fmt.Errorf("reading the certificates of this host: %w", err)
	}
	if err := r.tell(ctx, found); err != nil {
		r.Say("the API does not know of the certificates that are not renewed here: " + err.Error())
	}
	due, expired := r.due(found)
	stale, err := r.stale(ctx)
	if err != nil {
		return err
	}
	switch at := r.failedAt(); {
	case len(due) == 0 && len(stale) == 0:
		r.Say("no certificate of this node is due")
		return nil
	case !expired && time.Since(at) < failedPause:
		r.Say("the last renewal failed at " + at.UTC().Format(time.RFC3339) + "; the next attempt is a day later")
		return nil
	case len(due) == 0:
		r.Say("restarting what began before its certificate: " + strings.Join(stale, ", "))
		return r.locked(func() error { return r.noteFailure(r.install(ctx, nil, expired)) })
	}
	all, refused := r.obtain(ctx, due)
	if len(all) == 0 {
		return refused
	}
	err = r.locked(func() error {
		if err := r.unchanged(all); err != nil {
			return err
		}
		return r.noteFailure(r.install(ctx, all, expired))
	})
	return errors.Join(err, refused)
}

// due returns the certificates that the cluster signs and that have to be renewed now, and whether one of them
// has expired that is in use. When one is due, those go along that would be due soon after it.
func (r *Renewal) due(found []certificates.Finding) (due []certificate.Want, expired bool) {
	needed := map[string]bool{}
	soon := map[string]bool{}
	for _, f := range found {
		switch {
		case renewable(f.State):
			needed[f.Name] = true
			r.Say(f.Name + ": " + f.Detail)
		case f.State == "ok" && time.Until(f.Expires) < together(r.RenewBefore):
			soon[f.Name] = true
		}
	}
	for _, w := range r.Certificates {
		if _, _, signs := signerOf(w); signs && needed[w.Name] {
			due = append(due, w)
		}
	}
	if len(due) == 0 {
		return nil, false
	}
	for _, w := range r.Certificates {
		if _, _, signs := signerOf(w); signs && soon[w.Name] && !needed[w.Name] {
			due = append(due, w)
		}
	}
	return due, slices.ContainsFunc(found, func(f certificates.Finding) bool {
		return f.State == "expired" && slices.ContainsFunc(due, func(w certificate.Want) bool { return w.Name == f.Name && w.Rotated == "" })
	})
}

// together returns the remaining lifetime with which a certificate is renewed along with one that is due.
func together(renewBefore time.Duration) time.Duration { return renewBefore * 5 / 4 }

// stale returns the processes that began before their certificate, as after an interruption.
func (r *Renewal) stale(ctx context.Context) (out []string, err error) {
	sys := r.system()
	for _, p := range r.processes(r.Certificates) {
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

// issued is a certificate that the cluster has issued for a node.
type issued struct {
	certificate.Want
	former []byte // what is in its file; nil when there is none
	text   []byte // PEM
}

// obtain has the cluster issue certificates. A run of deployer may take the lock while this node waits. An error
// of some comes with the others.
func (r *Renewal) obtain(ctx context.Context, due []certificate.Want) (out []issued, err error) {
	var all []issued
	var requests []signingRequest
	err = r.locked(func() error {
		made, err := r.csrs(ctx, due)
		if err != nil {
			return err
		}
		sys := r.system()
		for _, w := range due {
			former, _ := hostfile.ReadFile(sys, w.CertPath) // nil, when it is missing
			request, err := newRequest(r.Node, w, made[w.Name], former)
			if err != nil {
				return err
			}
			all, requests = append(all, issued{Want: w, former: former}), append(requests, request)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	signed, err := r.sign(ctx, requests)
	errs := []error{err}
	for i, one := range all {
		if one.text = signed[requests[i].Metadata.Name]; one.text == nil {
			continue
		}
		if err := one.worthIt(r.RenewBefore, time.Now()); err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, one)
	}
	return out, errors.Join(errs...)
}

// worthIt fails when the certificate does not live longer than the former one, or would be due at once: then every
// call would renew it again, and restart what reads it. One that has expired is replaced by any other.
func (i issued) worthIt(renewBefore time.Duration, now time.Time) error {
	ends, err := notAfter(i.text)
	if err != nil {
		return fmt.Errorf("the certificate that was issued for %s: %w", i.Name, err)
	}
	former, _ := notAfter(i.former) // the zero time, when it cannot be read
	if former.Before(now) || ends.Sub(now) > renewBefore && ends.After(former) {
		return nil
	}
	return fmt.Errorf("the certificate that was issued for %s ends on %s, and less than %s before the end it would be due: does the cluster's authority end soon, or is cluster-signing-duration too short?",
		i.Name, ends.UTC().Format(time.RFC3339), renewBefore)
}

// notAfter returns the end of the certificate in a PEM text.
func notAfter(text []byte) (time.Time, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return time.Time{}, errors.New("it is no PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, err
	}
	return cert.NotAfter, nil
}

// unchanged fails when somebody has changed the file of a certificate since its request: a run of deployer, whose
// certificate is newer than this decision.
func (r *Renewal) unchanged(all []issued) error {
	sys := r.system()
	for _, one := range all {
		if now, _ := hostfile.ReadFile(sys, one.CertPath); !bytes.Equal(now, one.former) {
			return fmt.Errorf("%s has changed since the request for a new certificate: nothing was done, and the next call looks again", one.CertPath)
		}
	}
	return nil
}

// csrs returns signing requests in PEM form by the names of certificates. Keys that are missing are made.
func (r *Renewal) csrs(ctx context.Context, due []certificate.Want) (map[string][]byte, error) {
	sys := r.system()
	module := &certificate.Certificates{Certificates: due, RenewBefore: together(r.RenewBefore), Requests: true}
	change, err := module.Check(ctx, sys)
	output := change.Output
	if err == nil && change.Needed {
		output, err = module.Apply(ctx, sys, change)
	}
	if err != nil {
		return nil, fmt.Errorf("making signing requests: %w", err)
	}
	var list []struct{ Name, CSR string }
	if err := certificates.Pass(output["requests"], &list); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, one := range list {
		out[one.Name] = []byte(one.CSR)
	}
	return out, nil
}

// install puts issued certificates in place and proves that everything uses them.
func (r *Renewal) install(ctx context.Context, all []issued, expired bool) error {
	sys := r.system()
	var due []certificate.Want
	texts := map[string]string{}
	for _, one := range all {
		due, texts[one.Name] = append(due, one.Want), string(one.text)
	}
	sys.Methods = map[string]func(ctx context.Context, in, out any) error{
		"certificate.sign": func(_ context.Context, in, out any) error {
			var asked struct{ Name string }
			if err := certificates.Pass(in, &asked); err != nil {
				return err
			}
			return certificates.Pass(map[string]string{"cert": texts[asked.Name]}, out)
		},
	}
	return certificates.Attempt(ctx, sys, expired, func(ctx context.Context) error {
		if len(due) == 0 {
			return nil
		}
		return host.Converge(ctx, sys, &certificate.Certificates{Certificates: due, RenewBefore: together(r.RenewBefore)})
	}, func(ctx context.Context) error { return r.use(ctx, sys) })
}

// use restarts what reads certificates only at its start, and returns when every process uses those of its files.
func (r *Renewal) use(ctx context.Context, sys *host.System) error {
	for _, p := range r.processes(r.Certificates) {
		if err := p.Run(ctx, sys, true); err != nil {
			return err
		}
	}
	at := slices.IndexFunc(r.Certificates, func(w certificate.Want) bool { return w.Name == kubeletServing })
	if at < 0 {
		return nil
	}
	address := cmp.Or(r.kubelet, net.JoinHostPort(r.Address, portKubelet))
	return certificates.Serves(ctx, sys, (&net.Dialer{}).DialContext, address, r.Certificates[at].CertPath, cmp.Or(r.served, certificates.ServedTimeout))
}

// locked does something while this node has the run lock of the host.
func (r *Renewal) locked(do func() error) error {
	other, err := r.lock.Take(lock.Holder{Run: "certificates-" + r.Node, Verb: "renewal of the node's certificates", By: "deployer-agent@" + r.Node, Since: time.Now()})
	if err != nil {
		return err
	}
	if other != nil {
		return &lock.Held{Host: r.Node, By: *other}
	}
	defer r.lock.Release()
	return do()
}

func (r *Renewal) system() *host.System { return &host.System{Name: r.Node, Root: r.Root, Say: r.Say} }

// isHeld reports whether a run of deployer has the lock of the host.
func isHeld(err error) bool {
	_, held := errors.AsType[*lock.Held](err)
	return held
}
