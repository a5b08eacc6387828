package certificate

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// state has the problems of one certificate on the host.
type state struct {
	want    Want
	key     crypto.Signer // nil: has to be made
	noKey   string        // why
	stale   fault         // why a new certificate is needed
	access  []wrongAccess // differences of owner and mode
	cert    []byte        // the file; nil when it does not exist
	rotated []byte        // the file at want.Rotated; nil when it does not exist
	// rotatedStale is the fault of rotated.
	rotatedStale fault
}

func (s state) settled() bool { return s.why().none() && len(s.access) == 0 }

// why returns the reason for a new certificate.
func (s state) why() fault {
	if s.stale.none() && !s.rotatedStale.none() {
		return fault{s.rotatedStale.state, "of " + s.want.Rotated + ": " + s.rotatedStale.reason}
	}
	return s.stale
}

// look reads the files of one certificate. Missing files are to be created; other
// errors are returned.
func look(sys engine.System, w Want, now time.Time) (state, error) {
	s := state{want: w}
	keyPEM, err := readOptional(sys, w.KeyPath, false)
	if err != nil {
		return s, err
	}
	if keyPEM == nil {
		s.noKey = "it does not exist"
	} else if s.key, err = parseKey(keyPEM); err != nil {
		s.noKey = err.Error()
	}
	if s.cert, err = readOptional(sys, w.CertPath, false); err != nil {
		return s, err
	}
	caPEM, err := readOptional(sys, w.CAPath, false)
	if err != nil {
		return s, err
	}
	switch {
	case s.cert == nil:
		s.stale = fault{stateMissing, "it does not exist"}
	case s.key == nil:
		s.stale = fault{stateDamaged, "its key has to be made"}
	default:
		s.stale = w.validate(s.cert, caPEM, s.key, w.KeyPath, now)
	}
	if s.stale.none() {
		if s.access, err = w.accessDifferences(sys); err != nil {
			return s, err
		}
	}
	if w.Rotated == "" {
		return s, nil
	}
	if s.rotated, err = readOptional(sys, w.Rotated, true); err == nil && s.rotated != nil {
		s.rotatedStale = w.validateRotated(s.rotated, caPEM, now)
	}
	return s, err
}

// validateRotated returns the fault of a file with certificate and key.
func (w Want) validateRotated(data, caPEM []byte, now time.Time) fault {
	key, err := parseKey(data)
	if err != nil {
		return faultf(stateDamaged, "its key cannot be read: %v", err)
	}
	return w.validate(data, caPEM, key, w.Rotated, now)
}

// readOptional returns the content of a file; nil when it does not exist. With follow the
// path may be a symbolic link.
func readOptional(sys engine.System, path string, follow bool) ([]byte, error) {
	resolved, err := hostfile.Resolve(sys, path, follow)
	if err != nil {
		return nil, err
	}
	data, err := hostfile.ReadFile(sys, resolved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (w Want) keyAccess() hostfile.Access  { return hostfile.Access{Mode: "0600", Owner: w.Owner} }
func (w Want) certAccess() hostfile.Access { return hostfile.Access{Mode: w.Mode, Owner: w.Owner} }

// wrongAccess is a file with a wrong owner or mode.
type wrongAccess struct{ path, action string }

func (w Want) accessDifferences(sys engine.System) ([]wrongAccess, error) {
	var out []wrongAccess
	for _, file := range []struct {
		path   string
		access hostfile.Access
	}{{w.KeyPath, w.keyAccess()}, {w.CertPath, w.certAccess()}} {
		info, err := hostfile.Lstat(sys, file.path)
		if err != nil {
			return nil, err
		}
		differences, err := file.access.Differences(sys, info)
		if err != nil {
			return nil, err
		}
		if len(differences) > 0 {
			out = append(out, wrongAccess{file.path, strings.Join(differences, ", ")})
		}
	}
	return out, nil
}

// Check validates every key and certificate against the wanted ones and against the
// CA certificate on the host.
func (c *Certificates) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	wants, err := c.wants()
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	for _, w := range wants {
		s, err := look(sys, w, time.Now())
		if err != nil {
			return engine.Change{}, fmt.Errorf("certificate %s: %w", w.Name, err)
		}
		change.Effects = append(change.Effects, s.effects(c.Requests)...)
	}
	change.Needed = len(change.Effects) > 0
	if c.Requests && !change.Needed {
		change.Output, err = c.requestOutput(sys, wants)
	}
	return change, err
}

// effects returns the changes; with keysOnly those of missing keys.
func (s state) effects(keysOnly bool) []engine.Effect {
	var out []engine.Effect
	add := func(path, action, reason string, secret bool) {
		out = append(out, engine.Effect{Kind: engine.EffectFile, Target: path, Action: action, Reason: reason, Secret: secret})
	}
	if s.key == nil {
		add(s.want.KeyPath, "make a key", s.noKey, true)
	}
	if keysOnly {
		return out
	}
	if why := s.why(); !why.none() {
		add(s.want.CertPath, "issue", why.reason, false)
		if s.rotated != nil {
			add(s.want.Rotated, "remove", "", true)
		}
	}
	for _, wrong := range s.access {
		add(wrong.path, wrong.action, "", false)
	}
	return out
}
