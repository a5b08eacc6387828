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
	want   Want
	key    crypto.Signer // nil: has to be made
	noKey  string        // why
	stale  string        // why a new certificate is needed, empty when not
	access []wrongAccess // differences of owner and mode
}

func (s state) settled() bool { return s.stale == "" && len(s.access) == 0 }

// look reads the files of one certificate. Missing files are to be created; other
// errors are returned.
func look(sys engine.System, w Want, now time.Time) (state, error) {
	s := state{want: w}
	keyPEM, err := readOptional(sys, w.KeyPath)
	if err != nil {
		return s, err
	}
	if keyPEM == nil {
		s.noKey = "it does not exist"
	} else if s.key, err = parseKey(keyPEM); err != nil {
		s.noKey = err.Error()
	}
	certPEM, err := readOptional(sys, w.CertPath)
	if err != nil {
		return s, err
	}
	caPEM, err := readOptional(sys, w.CAPath)
	if err != nil {
		return s, err
	}
	switch {
	case certPEM == nil:
		s.stale = "it does not exist"
	case s.key == nil:
		s.stale = "its key has to be made"
	default:
		s.stale = w.validate(certPEM, caPEM, s.key, now)
	}
	if s.stale == "" {
		s.access, err = w.accessDifferences(sys)
	}
	return s, err
}

func readOptional(sys engine.System, path string) ([]byte, error) {
	resolved, err := hostfile.Resolve(sys, path, false)
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
		change.Effects = append(change.Effects, s.effects()...)
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

func (s state) effects() []engine.Effect {
	var out []engine.Effect
	add := func(path, action string, secret bool) {
		out = append(out, engine.Effect{Kind: engine.EffectFile, Target: path, Action: action, Secret: secret})
	}
	if s.key == nil {
		add(s.want.KeyPath, "make a key: "+s.noKey, true)
	}
	if s.stale != "" {
		add(s.want.CertPath, "issue: "+s.stale, false)
	}
	for _, wrong := range s.access {
		add(wrong.path, wrong.action, false)
	}
	return out
}
