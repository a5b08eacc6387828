// Package bgp has the module for the password of BIRD's sessions.
package bgp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"deployer/engine"
	"deployer/tasks/file"
)

// DefaultPath is the file that BIRD's configuration includes.
const DefaultPath = "/etc/deployer/bgp-password.conf"

// Password writes the password of the BGP sessions, which the controller holds,
// as a part of BIRD's configuration. Without a password the file has a comment only.
type Password struct {
	Path  string `yaml:"path" rule:"path" doc:"the file; default /etc/deployer/bgp-password.conf"`
	Group string `yaml:"group" rule:"owner" doc:"group that may read it; default bird"`
}

var _ engine.Module = (*Password)(nil)

// plain matches passwords that need no quoting in BIRD's configuration, and that the kernel
// accepts: at most 80 bytes (TCP_MD5SIG_MAXKEYLEN).
var plain = regexp.MustCompile(`^[A-Za-z0-9._+/=-]{1,80}$`)

func (p *Password) file(ctx context.Context, sys engine.System) (*file.File, error) {
	var out struct {
		Password string `json:"password"`
	}
	if err := sys.Call(ctx, "bgp.password", nil, &out); err != nil {
		return nil, fmt.Errorf("asking for the password of the BGP sessions: %w", err)
	}
	text := "# Written by deployer. The sessions have no password.\n"
	if out.Password != "" {
		if !plain.MatchString(out.Password) {
			return nil, errors.New("the password of the BGP sessions is not of 1 to 80 letters, digits and . _ + / = -")
		}
		text = fmt.Sprintf("# Written by deployer.\npassword %q;\n", out.Password)
	}
	return &file.File{
		Path: cmp.Or(p.Path, DefaultPath), Content: &text, Mode: "0640", Group: cmp.Or(p.Group, "bird"), Secret: true,
	}, nil
}

// Check compares the file. The output's "replaced" is true when a file with another
// password exists: then running sessions must load the new one.
func (p *Password) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	f, err := p.file(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	change, err := f.Check(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	had, err := os.ReadFile(sys.Path(f.Path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engine.Change{}, fmt.Errorf("reading the password of the BGP sessions: %w", err)
	}
	change.Output = engine.Output{"replaced": err == nil && string(had) != *f.Content}
	return change, nil
}

// Apply writes the file.
func (p *Password) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	f, err := p.file(ctx, sys)
	if err != nil {
		return nil, err
	}
	if _, err := f.Apply(ctx, sys, change); err != nil {
		return nil, err
	}
	return change.Output, nil
}
