// Package fetch has the action that copies files from hosts to the controller.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/stat"
)

// Fetch copies a file of the host to the controller.
type Fetch struct {
	Src       string `yaml:"src" rule:"path" required:"true" doc:"absolute path of a plain file on the host"`
	Dest      string `yaml:"dest" rule:"line" required:"true" doc:"directory on the controller, absolute or relative to where deployer was started; the file becomes DEST/HOST/SRC in it"`
	Flat      bool   `yaml:"flat" doc:"dest is the file itself or, with a slash at its end, its directory; it must differ between hosts. Default false"`
	Follow    bool   `yaml:"follow" doc:"follow symbolic links of other users, who can thereby choose the file; default false"`
	MissingOK bool   `yaml:"missing_ok" doc:"do not fail when the file does not exist; default false"`
	MaxMiB    int64  `yaml:"max_mib" range:"0.." doc:"maximum size of the file in MiB; a tenth of the controller's disk, at most 1 GiB, always stays free. Default 1024"`
}

var _ engine.Action = (*Fetch)(nil)

// remote describes a file on its host.
type remote struct {
	exists bool
	kind   string
	size   int64
	sha256 string
}

// target is the destination of a file on the controller: nothing is written outside of
// dir, whatever names and links it contains.
type target struct{ dir, name string }

func (t target) String() string { return filepath.Join(t.dir, t.name) }

// place returns the destination for the file of a host.
func (f *Fetch) place(host string) (target, error) {
	if !path.IsAbs(f.Src) {
		return target{}, fmt.Errorf("src %q is not an absolute path", f.Src)
	}
	src := path.Clean(f.Src)
	if src == "/" || f.Dest == "" {
		return target{}, errors.New("src, a file, and dest are required")
	}
	switch {
	case f.Flat && strings.HasSuffix(f.Dest, "/"):
		return target{filepath.Clean(f.Dest), path.Base(src)}, nil
	case f.Flat:
		return target{filepath.Dir(f.Dest), filepath.Base(f.Dest)}, nil
	}
	name := path.Join(host, src)
	if !filepath.IsLocal(name) || strings.ContainsAny(host, `/\`) || host == "." {
		return target{}, fmt.Errorf("the host's name %q cannot be the name of a directory: set flat", host)
	}
	return target{filepath.Clean(f.Dest), filepath.FromSlash(name)}, nil
}

// Check compares the digests of both files.
func (f *Fetch) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	to, err := f.place(actx.Host())
	if err != nil {
		return engine.Change{}, err
	}
	have, err := f.look(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"dest": to.String(), "missing": !have.exists}
	effect := engine.Effect{Kind: engine.EffectFile, Target: to.String(), Action: "fetch from " + actx.Host() + ":" + f.Src}
	switch {
	case !have.exists && f.MissingOK:
		return engine.NoChange(out), nil
	case !have.exists: // an earlier step may create it; otherwise Apply fails
		return engine.Changed(effect), nil
	case have.kind != "file":
		return engine.Change{}, fmt.Errorf("%s is not a plain file but a %s: fetch copies single files; put several into an archive", f.Src, have.kind)
	}
	out["sha256"], out["size"] = have.sha256, have.size
	mine, err := digestOf(to.String())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return engine.Change{}, err
	}
	change := engine.NoChange(out)
	if mine != have.sha256 {
		change = engine.Changed(effect)
		change.Output = out
	}
	return change, nil
}

// look reads the state of the file on the host.
func (f *Fetch) look(ctx context.Context, actx engine.ActionContext) (remote, error) {
	out, err := ask(ctx, actx, "stat", &stat.Stat{Path: f.Src, Follow: true, OnlyTrusted: !f.Follow, Checksum: true})
	if err != nil {
		return remote{}, err
	}
	r := remote{}
	r.exists, _ = out["exists"].(bool)
	r.kind, _ = out["type"].(string)
	r.sha256, _ = out["sha256"].(string)
	switch size := out["size"].(type) { // JSON has one kind of number
	case float64:
		r.size = int64(size)
	case int:
		r.size = int64(size)
	case int64:
		r.size = size
	}
	return r, nil
}

// ask runs a read-only module.
func ask(ctx context.Context, actx engine.ActionContext, module string, args engine.Module) (engine.Output, error) {
	res, err := actx.RunOn(ctx, actx.Host(), module, args)
	if err != nil {
		return nil, err
	}
	if res.Failure != nil {
		return nil, res.Failure
	}
	return res.Output, nil
}
