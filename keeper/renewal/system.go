package renewal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/keeper/config"
	"deployer/tasks/certificate"
	"deployer/tasks/control/keyring"
)

// system is this host for modules. In the place of a controller, the authorities on this host sign.
type system struct {
	host     string
	own      config.Own
	root     string // before every path; empty on a real host
	former   []former
	progress func(string)
}

var _ engine.System = (*system)(nil)

// errAlone is the error of what only a controller can give.
var errAlone = errors.New("there is no controller")

func (s *system) Path(p string) string { return s.root + p }

func (s *system) Blob(context.Context, string) (io.ReadCloser, error) { return nil, errAlone }

// Call signs the certificate that a module asks for.
func (s *system) Call(_ context.Context, method string, in, out any) error {
	if method != "certificate.sign" {
		return fmt.Errorf("%s: %w", method, errAlone)
	}
	var request struct{ Name, CSR string }
	if err := pass(in, &request); err != nil {
		return err
	}
	keys, err := s.keys()
	if err != nil {
		return fmt.Errorf("reading the authorities of this host: %w", err)
	}
	signed, err := keys.SignRequest(s.wanted, s.host, request.Name, []byte(request.CSR), time.Now())
	if err != nil {
		return err
	}
	return pass(map[string]string{"cert": string(signed)}, out)
}

// pass copies a value by its JSON form.
func pass(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// keys returns the authorities that this host holds.
func (s *system) keys() (*keyring.Keys, error) {
	files := keyring.Files{}
	for _, path := range keyring.BackupPaths() {
		text, err := os.ReadFile(s.Path(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[path] = text
	}
	if files[keyring.ClusterCert] == nil {
		return nil, fmt.Errorf("%s does not exist", keyring.ClusterCert) // else Complete would make an authority
	}
	keys, _, err := keyring.Complete(files, time.Now(), 0, keyring.ExternalIn(files, s.own.External))
	return keys, err
}

// wanted returns what a certificate of this host has to be.
func (s *system) wanted(host, name string) (keyring.Certificate, bool) {
	at := slices.IndexFunc(s.own.Certificates, func(w certificate.Want) bool { return w.Name == name })
	if host != s.host || at < 0 {
		return keyring.Certificate{}, false
	}
	w := s.own.Certificates[at]
	spec := keyring.Certificate{
		Name: w.Name, Authority: w.Authority, CommonName: w.CN, Organizations: w.Orgs, DNSNames: w.DNS,
		Server: slices.Contains(w.Usages, "server"), Client: slices.Contains(w.Usages, "client"), Validity: s.own.LeafLifetime,
	}
	for _, text := range w.IPs {
		if ip := net.ParseIP(text); ip != nil {
			spec.IPs = append(spec.IPs, ip)
		}
	}
	return spec, true
}

func (s *system) Run(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
	return agent.RunCommand(ctx, cmd)
}

func (s *system) Chown(string) error { return nil } // the keeper is root, as the owner of what it makes

func (s *system) BackupRegenerated(path string) error { return s.Backup(path) }

// Only files are put back: nothing else changes.
func (s *system) BackupState(string, string, engine.State) error { return nil }
func (s *system) MarkIrreversible(string, string) error          { return nil }

func (s *system) Progress(text string) { s.progress(text) }

func (s *system) RunID() string { return "keeper-" + s.host }
