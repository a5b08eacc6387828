package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/addons"
	"deployer/cluster"
	"deployer/images"
)

// readAddons reads and renders the add-ons of the cluster. Its errors have their place in the
// inventory.
func (p *Project) readAddons() error {
	set, err := addons.Read(p.Cluster.AddonSpecs, p.Cluster.Versions.Kubernetes, addonFiles{p})
	if err == nil {
		if p.Addons == nil {
			p.Addons = &addons.Set{}
		}
		*p.Addons = set
		return nil
	}
	var problems cluster.Problems
	for _, one := range joined(err) {
		var spec *addons.SpecError
		if !errors.As(one, &spec) {
			return one
		}
		problems = append(problems, cluster.Problem{Code: "bad-addon", Subject: fmt.Sprintf("cluster.addons[%d]", spec.Index), Message: one.Error()})
	}
	return withPositions(p.Inventory, problems)
}

// listCharts adds the charts of repositories to the artifacts of the project.
func (p *Project) listCharts() {
	for _, a := range p.Cluster.AddonSpecs {
		if !a.RemoteChart() {
			continue
		}
		artifact := images.Artifact{Name: chartArtifact(a.Name), Kind: images.KindChart, URL: a.Chart}
		if a.Repository != "" {
			artifact.URL, artifact.Chart = a.Repository, a.Chart
		}
		p.Artifacts.Catalogue.Add(artifact)
		p.Needed = append(p.Needed, chartRef(a))
	}
}

// chartArtifact returns the name of the artifact that is the chart of an add-on.
func chartArtifact(addon string) string { return "chart-" + addon }

func chartRef(a cluster.AddonSpec) images.Ref {
	return images.Ref{Name: chartArtifact(a.Name), Version: a.Version, Arch: images.AnyArch}
}

// joined returns the errors that errors.Join has joined.
func joined(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// addonFiles are the files of add-ons: paths are relative to the inventory, and what is read is
// part of the project's digests.
type addonFiles struct{ p *Project }

// encryptedSuffix is the suffix of the files that Options.Open decrypts.
const encryptedSuffix = ".age"

// Dir implements addons.Files.
func (f addonFiles) Dir() string { return Absolute(cmp.Or(f.p.Inventory.Dir, ".")) }

// LookupEnv implements addons.Files.
func (f addonFiles) LookupEnv(name string) (string, bool) {
	if f.p.LookupEnv != nil {
		return f.p.Options.LookupEnv(name)
	}
	return os.LookupEnv(name)
}

// AddSecrets implements addons.Files.
func (f addonFiles) AddSecrets(texts []string) {
	for _, text := range texts {
		f.p.Inventory.AddSecret(text)
	}
}

// ReadFile implements addons.Files.
func (f addonFiles) ReadFile(path string, limit int64) ([]byte, error) {
	full := f.path(path)
	file, err := f.p.recorder.files.open(full)
	if err != nil {
		return nil, plainError(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plainError(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, plainError(err)
	}
	if int64(len(content)) > limit {
		return nil, errors.New("the files of an add-on have at most 64 MiB")
	}
	f.p.recorder.record(full, content)
	if !strings.HasSuffix(path, encryptedSuffix) {
		return content, nil
	}
	if f.p.Open == nil {
		return nil, errors.New("it is encrypted, and there is no key to decrypt it")
	}
	return f.p.Open(path, content)
}

// ReadChart implements addons.Files.
func (f addonFiles) ReadChart(spec cluster.AddonSpec) (content []byte, digest string, err error) {
	ref := chartRef(spec)
	blob, err := f.p.Artifacts.Resolve(context.Background(), ref)
	if errors.Is(err, images.ErrUnpinned) || errors.Is(err, images.ErrMissing) {
		pin, _ := f.p.Artifacts.Lock.Pin(ref)
		return nil, pin.SHA256, fmt.Errorf("%w: %w", addons.ErrUnfetched, err)
	}
	if err != nil {
		return nil, "", err
	}
	content, err = os.ReadFile(blob.Path)
	return content, blob.Digest, err
}

// ReadDir implements addons.Files.
func (f addonFiles) ReadDir(path string) ([]string, error) {
	full := f.path(path)
	file, err := f.p.recorder.files.open(full)
	if err != nil {
		return nil, plainError(err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && !info.IsDir() {
		return nil, addons.ErrNoDirectory
	}
	entries, err := file.ReadDir(-1)
	if err != nil {
		return nil, plainError(err)
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && f.isDir(filepath.Join(full, name)) {
			name += "/"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (f addonFiles) isDir(full string) bool {
	file, err := f.p.recorder.files.open(full)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	return err == nil && info.IsDir()
}

func (f addonFiles) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(f.Dir(), path)
}

// plainError returns the cause of an error of a path, without the path.
func plainError(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
