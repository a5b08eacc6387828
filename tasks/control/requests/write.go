package requests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/cluster/external"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Write is the action `certificate_requests`: it writes the requests of hosts into the
// directory that the inventory names, and removes requests that are no longer open. An open
// request for the same key and names stays unchanged.
type Write struct {
	Found       string        `yaml:"found" rule:"variable" doc:"Name under which the hosts registered certificate with requests." required:"true"`
	RenewBefore time.Duration `yaml:"renew_before" range:"0s.." doc:"An issued certificate fulfils a request when it is valid for longer than this; default 720h."`
}

// NewWrite returns the action with its defaults.
func NewWrite() *Write { return &Write{RenewBefore: 720 * time.Hour} }

// requested is a request in the output of the module certificate.
type requested struct {
	Name   string `json:"name"`
	CSR    string `json:"csr"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// Check compares the directory with the requests. Check fails when a request differs from the
// cluster's table of certificates.
func (w *Write) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	d, err := w.plan(actx)
	if err != nil {
		return engine.Change{}, err
	}
	c, _ := actionctx.Cluster(actx)
	change := engine.Change{Needed: len(d.write)+len(d.remove) > 0}
	for _, name := range d.names() {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: filepath.Join(c.ExternalAuthorities.Requests, name), Action: "write"})
	}
	for _, name := range d.remove {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: filepath.Join(c.ExternalAuthorities.Requests, name), Action: "remove"})
	}
	return change, nil
}

// Apply writes the files.
func (w *Write) Apply(_ context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	d, err := w.plan(actx)
	if err != nil {
		return nil, err
	}
	c, _ := actionctx.Cluster(actx)
	return nil, d.apply(c.ExternalAuthorities.Requests)
}

// plan returns the changes that bring the directory to the requests of the hosts. Requests
// of hosts that are not in the run stay.
func (w *Write) plan(actx engine.ActionContext) (*directory, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, err
	}
	before, err := ReadIndex(c.ExternalAuthorities.Requests)
	if err != nil {
		return nil, err
	}
	d := &directory{write: map[string][]byte{}}
	var index Index
	var reported []string
	var errs []error
	for _, host := range actx.Targets() {
		out := actionctx.Registered(actx, host, w.Found)
		if out["requests"] == nil { // as in a dry run, which generates no keys
			continue
		}
		list, err := decode(out)
		if err != nil {
			return nil, fmt.Errorf("decoding the requests of %s: %w", host, err)
		}
		reported = append(reported, host)
		for _, r := range list {
			described, err := w.add(c, d, host, r)
			if err != nil {
				errs = append(errs, fmt.Errorf("the request of %s for certificate %q is refused: %w", host, r.Name, err))
			} else if described.Name != "" {
				index.Requests = append(index.Requests, described)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, former := range before.Requests {
		switch {
		case !slices.Contains(reported, former.Host) && slices.Contains(c.Order, former.Host):
			index.Requests = append(index.Requests, former)
		case !slices.ContainsFunc(index.Requests, func(r external.Request) bool { return r.Request == former.Request }):
			d.remove = append(d.remove, former.Request, extensions(former))
		}
	}
	if d.write[indexFile], err = index.encode(); err != nil {
		return nil, err
	}
	return d, d.differences(c.ExternalAuthorities.Requests)
}

// add adds the files of a request, unless an issued certificate fulfils it already.
func (w *Write) add(c *cluster.Cluster, d *directory, host string, r requested) (external.Request, error) {
	list := c.ExternalCertificates(host)
	i := slices.IndexFunc(list, func(cert cluster.Certificate) bool { return cert.Name == r.Name })
	if i < 0 {
		return external.Request{}, errors.New("the inventory gives this host no such certificate of an external authority")
	}
	want := list[i]
	key, err := external.CheckRequest(want, []byte(r.CSR))
	if err != nil {
		return external.Request{}, err
	}
	if cert, ok := c.IssuedFor(host, want); ok && cert.Fault == nil && external.SamePublic(cert.Cert.PublicKey, key) && time.Now().Add(w.RenewBefore).Before(cert.Cert.NotAfter) {
		return external.Request{}, nil
	}
	described := external.Describe(host, want, r.Detail, c.Certificates.Leaf)
	d.write[described.Request], d.write[extensions(described)] = []byte(r.CSR), []byte(described.OpenSSL())
	// Signatures differ each time; a request for the same key and names is the same.
	if out, err := os.ReadFile(filepath.Join(c.ExternalAuthorities.Requests, described.Request)); err == nil {
		if same, err := external.CheckRequest(want, out); err == nil && external.SamePublic(same, key) {
			delete(d.write, described.Request)
		}
	}
	return described, nil
}

// extensions returns the path of the file with the extensions of a request.
func extensions(r external.Request) string {
	return r.Request[:len(r.Request)-len(".csr")] + ".ext"
}

func decode(out engine.Output) ([]requested, error) {
	var found struct {
		Requests []requested `json:"requests"`
	}
	return found.Requests, out.Decode(&found)
}
