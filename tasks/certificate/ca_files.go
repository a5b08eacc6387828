package certificate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/file"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// CAFiles writes the files of the certificate authorities that the controller holds
// for this host: all of them on masters, only certificates elsewhere.
type CAFiles struct {
	Dir string `yaml:"dir" rule:"path" doc:"directory that all files lie below; default /etc/kubernetes"`
}

type caFile struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`
	Content string `json:"content"`
	Secret  bool   `json:"secret"`
}

func (a *CAFiles) fetch(ctx context.Context, sys engine.System) ([]*file.File, error) {
	var out struct {
		Files []caFile `json:"files"`
	}
	if err := sys.Call(ctx, "authority.files", nil, &out); err != nil {
		return nil, fmt.Errorf("asking for the authorities' files: %w", err)
	}
	dir := filepath.Clean(cmp.Or(a.Dir, "/etc/kubernetes")) + "/"
	var files []*file.File
	for _, f := range out.Files {
		if !strings.HasPrefix(filepath.Clean(f.Path), dir) {
			return nil, fmt.Errorf("the controller sent %s, which is not below %s", f.Path, dir)
		}
		if f.Content == "" {
			return nil, fmt.Errorf("the controller sent nothing for %s", f.Path)
		}
		files = append(files, &file.File{Path: f.Path, Mode: f.Mode, Content: new(f.Content), Secret: true})
	}
	return files, nil
}

// Check compares the files, in the order in which they are written.
func (a *CAFiles) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	files, err := a.fetch(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	for _, f := range files {
		one, err := f.Check(ctx, sys)
		if err != nil {
			return engine.Change{}, err
		}
		change.Needed = change.Needed || one.Needed
		change.Effects = append(change.Effects, one.Effects...)
	}
	return change, nil
}

// Apply writes the files that differ.
func (a *CAFiles) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	files, err := a.fetch(ctx, sys)
	if err != nil {
		return nil, err
	}
	if err := receipt.Claim(sys); err != nil {
		return nil, err
	}
	for _, f := range files {
		change, err := f.Check(ctx, sys)
		if err != nil {
			return nil, err
		}
		if !change.Needed {
			continue
		}
		if err := hostfile.Parents(sys, f.Path); err != nil {
			return nil, err
		}
		if _, err := f.Apply(ctx, sys, change); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// CARead reads the CA files that a master holds. The output is secret, so its task
// must be secret.
type CARead struct {
	Dir   string   `yaml:"dir" rule:"path" doc:"directory with the files as kubeadm lays them out; default /etc/kubernetes"`
	Names []string `yaml:"names" rule:"below" doc:"paths below dir; default: every file of the cluster's, etcd's, front proxy's and Calico's authorities and, during a rotation, their successors, the service account key, the encryption configuration and the password of the BGP sessions"`
}

// kept are the CA files below /etc/kubernetes ("PKI certificates and requirements"
// in the Kubernetes documentation).
func kept() []string {
	return []string{
		"pki/ca.crt", "pki/ca.key", "pki/etcd/ca.crt", "pki/etcd/ca.key",
		"pki/front-proxy-ca.crt", "pki/front-proxy-ca.key", "pki/sa.key", "pki/sa.pub", "encryption.yaml", "bgp-password",
		"pki/etcd-calico/ca.crt", "pki/etcd-calico/ca.key", "pki/etcd-calico/ca-next.pem", // where Calico has an etcd
		"pki/ca-next.pem", "pki/etcd/ca-next.pem", "pki/front-proxy-ca-next.pem", // during the rotation of an authority
	}
}

// ReadOnly reports that the module only reads.
func (*CARead) ReadOnly() bool { return true }

// Check reads the files; the output has their contents by path under "files".
func (a *CARead) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	names := a.Names
	if len(names) == 0 {
		names = kept()
	}
	files := map[string]any{}
	for _, name := range names {
		path := filepath.Join(cmp.Or(a.Dir, "/etc/kubernetes"), name)
		data, err := os.ReadFile(sys.Path(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return engine.Change{}, fmt.Errorf("reading what this master holds: %w", err)
		}
		files[path] = string(data)
	}
	return engine.NoChange(engine.Output{"files": files}), nil
}

// Apply is never needed.
func (*CARead) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
