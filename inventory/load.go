package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"deployer/strictyaml"
)

// Load reads the inventory file at path. Errors about its content are of type
// strictyaml.Errors and contain all problems. With such an error Load returns an
// inventory of which only File, Dir, Cluster and Artifacts may be used, so that the
// caller can report problems of those sections too; it is nil when the file is not YAML.
//
// Variables in group_vars and host_vars beside the file, and beside the playbook of
// Options, belong to the inventory.
func Load(path string, o Options) (*Inventory, error) {
	data, err := o.read(path)
	switch {
	case errors.Is(err, syscall.EISDIR):
		return nil, directoryError(path)
	case err != nil:
		return nil, fmt.Errorf("reading inventory: %w", err)
	}
	dir, home, err := places(path)
	if err != nil {
		return nil, err
	}
	return parse(source{path, data, dir, home, o.lookupEnv, o.read}, readVarsDirs(dir, path, o))
}

// Options are the external inputs of Load.
type Options struct {
	// Open decrypts a file whose name ends in .age. Without Open such a file is an error.
	Open func(name string, data []byte) ([]byte, error)
	// Read reads a file; nil means os.ReadFile.
	Read func(path string) ([]byte, error)
	// LookupEnv returns the value of an environment variable, for the tag !env; nil means
	// os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
	// Playbook is the directory of the playbook of the run; empty without one.
	Playbook string
}

func (o Options) lookupEnv(name string) (string, bool) {
	if o.LookupEnv == nil {
		return os.LookupEnv(name)
	}
	return o.LookupEnv(name)
}

func (o Options) read(path string) ([]byte, error) {
	if o.Read == nil {
		return os.ReadFile(path)
	}
	return o.Read(path)
}

// Parse parses data as Load does, without the files of variables beside it; relative paths
// start at the directory of file.
func Parse(file string, data []byte) (*Inventory, error) {
	dir, home, err := places(file)
	if err != nil {
		return nil, err
	}
	return parse(source{file, data, dir, home, os.LookupEnv, os.ReadFile}, nil)
}

func places(file string) (dir, home string, err error) {
	if dir, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return "", "", fmt.Errorf("finding the directory of %s: %w", file, err)
	}
	if home, err = os.UserHomeDir(); err != nil {
		home = "/" // only matters for paths with ~
	}
	return dir, home, nil
}

// source is an inventory file and the places that it may read.
type source struct {
	name      string // as shown in messages
	data      []byte
	dir, home string // absolute directory of the file, and of the user
	env       func(string) (string, bool)
	read      func(path string) ([]byte, error) // reads the files of extends, and the chosen node addresses
}

func parse(from source, vars *varsDirs) (*Inventory, error) {
	root, secrets, err := from.extended()
	if root == nil {
		return nil, cmp.Or(ofAnsible(from.name, from.data), err)
	}
	b := &builder{home: from.home, read: from.read, vars: vars, inv: &Inventory{File: from.name, Dir: from.dir, secrets: secrets}}
	b.err(err)
	b.err(strictyaml.Decode(from.name, root, &b.file))
	b.build()
	if err := strictyaml.Join(b.errs...); err != nil {
		err = cmp.Or(ofAnsible(from.name, from.data), err)
		return &Inventory{File: from.name, Dir: from.dir, Cluster: b.inv.Cluster, Artifacts: b.inv.Artifacts, secrets: b.inv.secrets}, err
	}
	return b.inv, nil
}

// builder creates an Inventory from a decoded file, step by step, and collects the
// problems.
type builder struct {
	file file
	home string
	read func(path string) ([]byte, error)
	inv  *Inventory
	errs []error
	// entry is the index in file.Hosts of each host's entry.
	entry []int
	// groups holds the members of each group as indices of hosts.
	groups map[string]members
	order  []int // indices in file.Groups by rising precedence
	ssh    map[string]SSH
	vars   *varsDirs // nil when they were not read
}

func (b *builder) err(err error) {
	if err != nil {
		b.errs = append(b.errs, err)
	}
}

func (b *builder) errorf(pos strictyaml.Pos, format string, args ...any) {
	b.errs = append(b.errs, pos.Errorf(format, args...))
}

func (b *builder) build() {
	b.inv.Cluster, b.inv.Artifacts = b.file.Cluster, b.file.Artifacts
	b.inv.Forks = b.file.Forks
	if b.file.Forks < 0 {
		b.errorf(strictyaml.Pos{File: b.inv.File}, "forks must not be negative")
	}
	b.addDistribution()
	b.addHosts()
	b.addGroups()
	b.addRoles()
	b.addLimits()
	b.addVarsFiles()
	b.mergeHosts()
	b.chooseNodeAddresses()
	b.checkAddresses()
	b.resolveBastions()
}

// at adds the file to the position of a reference, which was decoded without it, unless the
// reference comes from another file.
func (b *builder) at(pos strictyaml.Pos) strictyaml.Pos {
	if pos.File == "" {
		pos.File = b.inv.File
	}
	return pos
}
