// Package artifact installs binaries and members of archives from the controller's
// blobs.
package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Install installs a blob, or members of it. Without a change it does not fetch the
// blob.
type Install struct {
	Name      string            `yaml:"name" rule:"line" doc:"name of the artifact in output; default the digest"`
	Blob      string            `yaml:"blob" rule:"sha256" required:"true" doc:"hex SHA-256 of the file or archive"`
	Published string            `yaml:"published" rule:"sha256" doc:"hex SHA-256 of the archive as published, when blob is the same without gzip; default blob"`
	Dest      string            `yaml:"dest" rule:"path" doc:"absolute path, when the blob is a single file"`
	Members   map[string]string `yaml:"members" rule:"path" keys:"line" doc:"path in the tar archive (plain or gzip) -> absolute path; a slash at the end of both means everything below. A path may omit the archive's top directory"`
	Mode      string            `yaml:"mode" rule:"mode" doc:"octal mode of installed files; default \"0755\""`
}

var (
	_ engine.Module   = (*Install)(nil)
	_ engine.Preparer = (*Artifact)(nil)
)

// installed is the receipt's record of one file.
type installed struct {
	receipt.Stamp
	SHA256 string `json:"sha256"`
}

// record is the receipt of one step.
type record struct {
	Blob  string               `json:"blob"`
	Files map[string]installed `json:"files"`
}

// Valid implements engine.Validator.
func (i *Install) Valid() error {
	if i.Blob == "" {
		return errors.New("blob is missing")
	}
	if (i.Dest == "") == (len(i.Members) == 0) {
		return errors.New("want either dest or members")
	}
	for _, dest := range i.dests() {
		if !filepath.IsAbs(dest) {
			return fmt.Errorf("destination %q is not an absolute path", dest)
		}
	}
	for from, to := range i.Members {
		if strings.HasSuffix(from, "/") != strings.HasSuffix(to, "/") {
			return fmt.Errorf("member %q -> %q: both end in a slash, or neither", from, to)
		}
	}
	_, err := hostfile.ParseMode(i.mode())
	return err
}

func (i *Install) mode() string {
	if i.Mode == "" {
		return "0755"
	}
	return i.Mode
}

func (i *Install) name() string {
	if i.Name == "" {
		return "blob " + i.Blob[:min(12, len(i.Blob))]
	}
	return i.Name
}

// dests returns the destinations as given, sorted; the receipt is named after them.
func (i *Install) dests() []string {
	if i.Dest != "" {
		return []string{i.Dest}
	}
	var out []string
	for from, to := range i.Members {
		if strings.HasSuffix(to, "/") {
			to += from // two directories may go to the same place
		}
		out = append(out, to)
	}
	slices.Sort(out)
	return out
}

// published returns the digest of the content in receipts, so that a host has nothing to do
// when the same archive has another compression.
func (i *Install) published() string { return cmp.Or(i.Published, i.Blob) }

func (i *Install) receiptPath() string { return receipt.Path("artifact", i.dests()...) }

// Check compares the receipt with the files.
func (i *Install) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := i.Valid(); err != nil {
		return engine.Change{}, err
	}
	var rec record
	if receipt.Read(sys, i.receiptPath(), &rec) && rec.Blob == i.published() {
		return i.checkFiles(sys, rec.Files)
	}
	if i.Dest != "" { // the blob's digest is the file's own
		return i.checkFiles(sys, map[string]installed{i.Dest: {SHA256: i.Blob}})
	}
	var effects []engine.Effect
	for _, dest := range slices.Sorted(maps.Values(i.Members)) {
		effects = append(effects, engine.Effect{Kind: engine.EffectFile, Target: dest, Action: "install from " + i.name()})
	}
	return engine.Changed(effects...), nil
}

func (i *Install) checkFiles(sys engine.System, files map[string]installed) (engine.Change, error) {
	var change engine.Change
	for _, path := range slices.Sorted(maps.Keys(files)) {
		action, err := i.checkFile(sys, path, files[path])
		if err != nil {
			return engine.Change{}, err
		}
		if action == "" {
			continue
		}
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: path, Action: action})
	}
	return change, nil
}

func (i *Install) checkFile(sys engine.System, path string, want installed) (string, error) {
	info, err := hostfile.Lstat(sys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "install from " + i.name(), nil
	}
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s is a directory: remove it first", path)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return "replace the link by " + i.name(), nil
	}
	if have, err := receipt.Take(sys, path); err != nil || have != want.Stamp {
		sum, err := hostfile.SHA256(sys, path)
		if err != nil {
			return "", err
		}
		if sum != want.SHA256 {
			return "replace from " + i.name(), nil
		}
	}
	differences, err := hostfile.Access{Mode: i.mode()}.Differences(sys, info)
	return strings.Join(differences, ", "), err
}
