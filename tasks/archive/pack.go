package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Pack makes an archive of files and directories of the host, and makes the archive again
// when one of them has changed.
type Pack struct {
	Path    string   `yaml:"path" rule:"path" doc:"absolute path or glob of files for the archive; a directory includes everything below it"`
	Paths   []string `yaml:"paths" rule:"path" doc:"more paths; names in the archive are relative to the deepest directory that contains all paths"`
	Dest    string   `yaml:"dest" rule:"path" required:"true" doc:"absolute path of the archive"`
	Format  string   `yaml:"format" enum:"tar,gz,zst,xz,zip" doc:"default: by the suffix of dest (.tar, .tar.gz, .tgz, .tar.zst, .tar.xz, .zip)"`
	Exclude []string `yaml:"exclude" rule:"glob" doc:"patterns such as *.log or site/cache, matched against the name in the archive or its last part; matches are left out with everything below them"`
	Mode    string   `yaml:"mode" rule:"mode" doc:"octal mode of the archive; default: that of the existing archive, \"0644\" for a new one"`
	Owner   string   `yaml:"owner" rule:"owner" doc:"user name or number of the archive; default: that of the existing archive, the agent's user for a new one"`
	Group   string   `yaml:"group" rule:"owner" doc:"group name or number of the archive; default as for owner"`
}

// packed is the receipt of an archive that was made.
type packed struct {
	Archive receipt.Stamp `json:"archive"`
	Listing string        `json:"listing"` // digest of the list of its sources
}

func (p *Pack) access() hostfile.Access {
	return hostfile.Access{Mode: p.Mode, Owner: p.Owner, Group: p.Group}
}

func (p *Pack) all() []string {
	if p.Path == "" {
		return p.Paths
	}
	return append([]string{p.Path}, p.Paths...)
}

// Valid implements engine.Validator.
func (p *Pack) Valid() error {
	if !filepath.IsAbs(p.Dest) {
		return fmt.Errorf("dest %q is not an absolute path", p.Dest)
	}
	if len(p.all()) == 0 {
		return errors.New("path or paths is missing")
	}
	for _, path := range p.all() {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("path %q is not absolute", path)
		}
	}
	if p.format() == "" {
		return fmt.Errorf("the end of %s names no format: say format: gz, or another of tar, zst, xz, zip", p.Dest)
	}
	return validPatterns("exclude", p.Exclude)
}

func (p *Pack) format() string {
	if p.Format != "" {
		return p.Format
	}
	for _, end := range []struct{ suffix, format string }{
		{".tar.gz", "gz"}, {".tgz", "gz"}, {".tar.zst", "zst"}, {".tzst", "zst"}, {".tar.xz", "xz"}, {".txz", "xz"}, {".tar", "tar"}, {".zip", "zip"},
	} {
		if strings.HasSuffix(p.Dest, end.suffix) {
			return end.format
		}
	}
	return ""
}

func (p *Pack) receiptPath() string { return receipt.Path("pack", p.Dest) }

// Check compares the archive and its sources with the receipt.
func (p *Pack) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := p.Valid(); err != nil {
		return engine.Change{}, err
	}
	if _, err := hostfile.Resolve(sys, p.Dest, false); err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: p.Dest}
	list, err := p.list(sys)
	if errors.Is(err, errNothing) { // in a dry run an earlier step has not created it; otherwise Apply reports it
		effect.Action = "pack " + strings.Join(p.all(), ", ")
		return engine.Changed(effect), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	info, err := hostfile.Lstat(sys, p.Dest)
	if errors.Is(err, fs.ErrNotExist) {
		effect.Action = fmt.Sprintf("pack %d files", len(list))
		change := engine.Changed(effect)
		change.MissingDir = hostfile.MissingDir(sys, p.Dest)
		return change, nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	var rec packed
	stamp, err := receipt.Take(sys, p.Dest)
	if err != nil {
		return engine.Change{}, err
	}
	if !receipt.Read(sys, p.receiptPath(), &rec) || rec.Archive != stamp || rec.Listing != p.digest(list) {
		effect.Action = fmt.Sprintf("pack %d files again", len(list))
		return engine.Changed(effect), nil
	}
	differences, err := p.access().Differences(sys, info)
	if err != nil || len(differences) == 0 {
		return engine.Change{}, err
	}
	effect.Action = strings.Join(differences, ", ")
	return engine.Changed(effect), nil
}

// Apply writes the archive beside its place and renames it.
func (p *Pack) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	list, err := p.list(sys)
	if err != nil {
		return nil, err
	}
	if err := sys.Backup(p.Dest); err != nil {
		return nil, err
	}
	t, err := hostfile.Create(sys, p.Dest)
	if err != nil {
		return nil, err
	}
	defer t.Discard()
	if err := write(ctx, t, p.format(), list); err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.Dest, err)
	}
	if err := t.ApplyAttributes(sys, p.access()); err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.Dest, err)
	}
	if err := t.Commit(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", p.Dest, err)
	}
	stamp, err := receipt.Take(sys, p.Dest)
	if err != nil {
		return nil, err
	}
	out := engine.Output{"files": len(list), "size": stamp.Size}
	return out, receipt.Write(sys, p.receiptPath(), packed{Archive: stamp, Listing: p.digest(list)})
}
