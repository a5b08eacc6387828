package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/file"
	"deployer/tasks/hostcmd"
)

// Repository manages a package source of apt, dnf or zypper, and the key that signs
// it. Arguments for other package managers than the host's are ignored, so that one
// task can serve several distributions.
type Repository struct {
	Name          string            `yaml:"name" rule:"filename" required:"true" doc:"name of the files: /etc/apt/sources.list.d/NAME.sources, /etc/yum.repos.d/NAME.repo or /etc/zypp/repos.d/NAME.repo"`
	Description   string            `yaml:"description" rule:"line" doc:"description for people; default the name"`
	URL           strictyaml.Texts  `yaml:"url" rule:"uri" doc:"URL of the packages, or a list; required unless mirrorlist or metalink is given"`
	Mirrorlist    string            `yaml:"mirrorlist" rule:"uri" doc:"dnf and zypper: URL of a list of mirrors"`
	Metalink      string            `yaml:"metalink" rule:"uri" doc:"dnf: URL of a metalink"`
	Types         strictyaml.Texts  `yaml:"types" rule:"in:deb,deb-src" doc:"apt: deb, deb-src or both; default deb"`
	Suites        strictyaml.Texts  `yaml:"suites" rule:"word" doc:"apt: suites as in bookworm, or a path that ends in / for a source without them; required there"`
	Components    strictyaml.Texts  `yaml:"components" rule:"word" doc:"apt: as in main; required unless the suite is a path"`
	Architectures strictyaml.Texts  `yaml:"architectures" rule:"word" doc:"apt: as in amd64; default those of the host"`
	Key           string            `yaml:"key" rule:"own" doc:"public key of the signature, as text that begins with -----BEGIN PGP PUBLIC KEY BLOCK-----"`
	KeyFile       string            `yaml:"key_file" rule:"path" doc:"absolute path of the public key on the host; instead of key"`
	Trusted       bool              `yaml:"trusted" doc:"accept an unsigned source; default false"`
	Enabled       bool              `yaml:"enabled" default:"true" doc:"false: the source is configured but not used"`
	Options       map[string]string `yaml:"options" rule:"line" keys:"directive" doc:"additional lines of the file, in the words of the package manager; default none"`
	UpdateCache   bool              `yaml:"update_cache" default:"true" doc:"update the lists of this source after a change, so that a wrong URL or key fails this task"`
	State         string            `yaml:"state" enum:"present,absent" doc:"present or absent; absent removes the key too. Default present"`
}

var _ engine.Module = (*Repository)(nil)

// NewRepository returns the arguments with their defaults.
func NewRepository() *Repository { return &Repository{Enabled: true, UpdateCache: true} }

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

const armour = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// Valid implements engine.Validator.
func (r *Repository) Valid() error {
	switch {
	case !plainName.MatchString(r.Name):
		return fmt.Errorf("name %q may only have letters, digits, dots, dashes and underscores", r.Name)
	case r.State == "absent":
		return nil
	case len(r.URL) == 0 && r.Mirrorlist == "" && r.Metalink == "":
		return errors.New("url is missing")
	case r.Key != "" && r.KeyFile != "":
		return errors.New("key and key_file exclude each other")
	case r.Key != "" && !strings.HasPrefix(strings.TrimSpace(r.Key), armour):
		return errors.New("key is not a public key that begins with " + armour)
	case r.Key == "" && r.KeyFile == "" && !r.Trusted:
		return errors.New("key or key_file is missing; set trusted: true to accept unsigned packages")
	}
	return nil
}

// Check compares the files of the source and of its key.
func (r *Repository) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := r.Valid(); err != nil {
		return engine.Change{}, err
	}
	m, err := detect(sys, (&Package{}).options())
	if err != nil {
		return engine.Change{}, err
	}
	files, err := r.files(m)
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
	if r.reads() && (change.Needed || r.unread(sys, files)) {
		change.Needed = true
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectPackage, Target: "lists of packages", Action: "read those of " + r.Name})
	}
	return change, nil
}

// files returns the modules for the source file and, when the task has one, the key
// file.
func (r *Repository) files(m manager) ([]*file.File, error) {
	place := m.place()
	source := &file.File{Path: place.source(r.Name), Mode: "0644", State: r.State}
	key := &file.File{Path: place.key(r.Name), Mode: "0644", State: r.State}
	if r.State == "absent" {
		return []*file.File{source, key}, nil
	}
	keyPath := r.KeyFile
	if r.Key != "" {
		keyPath = key.Path
		key.Content = new(strings.TrimSpace(r.Key) + "\n")
	} else {
		key.State = "absent" // an earlier version of the task may have had a key
	}
	content, err := place.write(r, keyPath)
	source.Content = &content
	return []*file.File{key, source}, err
}

// reads reports whether a change is followed by a refresh of the lists.
func (r *Repository) reads() bool { return r.UpdateCache && r.Enabled && r.State != "absent" }

// unread reports whether the lists have not been refreshed since the source was written,
// because a run was killed in between or the source did not answer.
func (r *Repository) unread(sys engine.System, files []*file.File) bool {
	read, err := os.Stat(sys.Path(listsReceipt(r.Name)))
	if err != nil {
		return true
	}
	for _, f := range files {
		if written, err := os.Stat(sys.Path(f.Path)); err == nil && written.ModTime().After(read.ModTime()) {
			return true
		}
	}
	return false
}

// Apply writes the files and refreshes the lists.
func (r *Repository) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	m, err := detect(sys, (&Package{}).options())
	if err != nil {
		return nil, err
	}
	files, err := r.files(m)
	if err != nil {
		return nil, err
	}
	if r.Key != "" {
		if err := os.MkdirAll(sys.Path(m.place().keys), 0o755); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		change, err := f.Check(ctx, sys)
		if err == nil && change.Needed {
			_, err = f.Apply(ctx, sys, change)
		}
		if err != nil {
			return nil, err
		}
	}
	if m.name() == "zypper" && r.Key != "" {
		if _, err := hostcmd.Run(ctx, sys, "rpm", "--import", m.place().key(r.Name)); err != nil {
			return nil, err
		}
	}
	if !r.reads() {
		return nil, nil
	}
	return nil, refresh(ctx, sys, m, r.Name)
}
