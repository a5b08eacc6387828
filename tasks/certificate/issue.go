package certificate

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Apply creates missing keys and certificates. A readable key is kept, so the next
// run after a kill certifies the key of the killed one, and a renewal never
// separates a running process from its key.
func (c *Certificates) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	wants, err := c.wants()
	if err != nil {
		return nil, err
	}
	if err := receipt.Claim(sys); err != nil {
		return nil, err
	}
	if c.Requests {
		return c.requestOutput(sys, wants)
	}
	issued := []string{}
	for _, w := range wants {
		s, err := look(sys, w, time.Now())
		if err == nil && !s.settled() {
			err = s.repair(ctx, sys)
			issued = append(issued, w.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("certificate %s: %w", w.Name, err)
		}
	}
	return engine.Output{"issued": issued}, nil
}

func (s *state) repair(ctx context.Context, sys engine.System) error {
	for _, path := range []string{s.want.KeyPath, s.want.CertPath} {
		if err := hostfile.Parents(sys, path); err != nil {
			return err
		}
		if err := sys.Backup(path); err != nil {
			return err
		}
	}
	if s.key == nil {
		if err := s.makeKey(sys); err != nil {
			return fmt.Errorf("making key %s: %w", s.want.KeyPath, err)
		}
	}
	if err := setAccess(sys, s.want.KeyPath, s.want.keyAccess()); err != nil {
		return err
	}
	if s.why().none() {
		return setAccess(sys, s.want.CertPath, s.want.certAccess())
	}
	cert, err := s.request(ctx, sys)
	if err != nil {
		return err
	}
	if err := hostfile.Write(sys, s.want.CertPath, bytes.NewReader(cert), s.want.certAccess()); err != nil || s.rotated == nil {
		return err
	}
	return removeRotated(sys, s.want.Rotated)
}

// setAccess sets the access of a file that exists.
func setAccess(sys engine.System, path string, access hostfile.Access) error {
	info, err := hostfile.Lstat(sys, path)
	if err != nil {
		return err
	}
	return access.SetFile(sys, path, info)
}

// removeRotated backs up and removes a file with certificate and key, or a link to it.
func removeRotated(sys engine.System, path string) error {
	dir, base, err := hostfile.Parent(sys, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := sys.Backup(path); err != nil {
		return err
	}
	return dir.RemoveAll(base)
}

func (s *state) makeKey(sys engine.System) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := hostfile.Write(sys, s.want.KeyPath, bytes.NewReader(block), s.want.keyAccess()); err != nil {
		return err
	}
	s.key = key
	return nil
}

// request has the controller sign a certificate and verifies the result: a wrong
// table on the controller must not end in a file with which a component fails.
func (s *state) request(ctx context.Context, sys engine.System) ([]byte, error) {
	csr, err := s.want.requestFor(s.key)
	if err != nil {
		return nil, err
	}
	in := struct {
		Name string `json:"name"`
		CSR  string `json:"csr"`
	}{s.want.Name, string(csr)}
	var out struct {
		Cert string `json:"cert"`
	}
	if err := sys.Call(ctx, "certificate.sign", in, &out); err != nil {
		return nil, fmt.Errorf("having it signed: %w", err)
	}
	ca, err := hostfile.ReadFile(sys, s.want.CAPath)
	if err != nil {
		return nil, fmt.Errorf("reading its authority: %w", err)
	}
	fresh := s.want // an authority that ends soon gives short lifetimes
	fresh.RenewBefore = 0
	if why := fresh.validate([]byte(out.Cert), ca, s.key, s.want.KeyPath, time.Now()); !why.none() {
		return nil, fmt.Errorf("what the controller signed was not put in place: %s", why.reason)
	}
	return []byte(out.Cert), nil
}
