package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/cmd/deployer/agents"
	"deployer/images"
	"deployer/inventory"
	"deployer/roles"
	"deployer/strictyaml"
)

// defaultInventory is looked for in the working directory.
const defaultInventory = "inventory.yaml"

// inventoryFlag adds -i to a verb.
func inventoryFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "inventory", "i", defaultInventory, "inventory file")
}

// project is everything that is known without touching the network.
type project struct {
	inv       *inventory.Inventory
	cluster   *cluster.Cluster // nil when the inventory has no master
	artifacts *images.Resolver
	refs      []images.Ref      // of the artifacts that this cluster needs
	images    map[string]string // full references of container images by catalogue name
	variables *roles.Variables  // with a cluster, set by addProbe
	arch      string            // that most hosts have: the first of artifacts.architectures
	hosts     []string          // that runs are about, in inventory order
	groups    map[string][]string
	witness   *witness
	logins    *logins // set by the first who reaches hosts
}

// artifactsSpec is the `artifacts:` section of an inventory.
type artifactsSpec struct {
	Source        string   `yaml:"source" doc:"Where binaries and images come from: upstream, an http(s) address of a mirror, or a directory; default upstream."`
	Architectures []string `yaml:"architectures" doc:"Architectures of the hosts: amd64, arm64; default amd64."`
}

// load reads an inventory and resolves it. All its errors are the user's.
func load(path string) (*project, error) {
	w := newWitness()
	inv, spec, err := read(path, w)
	if err != nil {
		return nil, usageError(err)
	}
	return resolve(inv, spec, w)
}

// loadAny reads an inventory for playbooks of the user's own, which may be
// without a cluster. All its hosts take part, those without a role too.
func loadAny(path string) (*project, error) {
	w := newWitness()
	inv, spec, err := read(path, w)
	if err != nil {
		return nil, usageError(err)
	}
	if len(inv.Roles[inventory.Master]) == 0 {
		p := &project{inv: inv, arch: spec.Architectures[0], hosts: inv.Names(), groups: inv.Table(), variables: roles.PlainVariables(inv), witness: w}
		p.artifacts, err = resolver(inv, spec)
		return p, err
	}
	p, err := resolve(inv, spec, w)
	if err != nil {
		return nil, err
	}
	p.hosts = inv.Names()
	p.groups["all"] = p.hosts
	return p, p.addProbe()
}

// resolve decides what can be known of the cluster that an inventory describes.
func resolve(inv *inventory.Inventory, spec artifactsSpec, w *witness) (p *project, err error) {
	p = &project{inv: inv, arch: spec.Architectures[0], witness: w}
	if p.artifacts, err = resolver(inv, spec); err != nil {
		return nil, err
	}
	if p.cluster, err = roles.Resolve(inv, p.artifacts.Source.Versions()); err != nil {
		return nil, usageError(problemsOf(inv, err))
	}
	if err := p.nameArtifacts(spec.Architectures); err != nil {
		return nil, usageError(err)
	}
	p.hosts, p.groups = roles.InRun(inv, p.cluster), roles.Groups(inv, p.cluster)
	return p, nil
}

// read reports what is wrong anywhere in the file at once, its sections
// included.
func read(path string, w *witness) (*inventory.Inventory, artifactsSpec, error) {
	inv, err := inventory.Load(path, inventory.Options{Open: ownKeys().Open, Read: w.read})
	if inv == nil {
		return nil, artifactsSpec{}, err
	}
	spec, artifactsErr := artifactsOf(inv)
	_, clusterErr := roles.Spec(inv)
	return inv, spec, strictyaml.Join(err, artifactsErr, clusterErr)
}

func artifactsOf(inv *inventory.Inventory) (artifactsSpec, error) {
	spec := artifactsSpec{Architectures: []string{"amd64"}}
	if err := strictyaml.DecodeAs(inv.File, "artifacts", inv.Artifacts, &spec); err != nil {
		return spec, err
	}
	if len(spec.Architectures) == 0 {
		return spec, strictyaml.At(inv.File, inv.Artifacts).Errorf("artifacts.architectures is empty: name at least one of amd64, arm64")
	}
	return spec, nil
}

func resolver(inv *inventory.Inventory, spec artifactsSpec) (*images.Resolver, error) {
	catalogue, err := images.Embedded()
	if err != nil {
		return nil, err
	}
	root, err := images.DefaultRoot()
	if err != nil {
		return nil, err
	}
	store, err := images.OpenStore(root)
	if err != nil {
		return nil, err
	}
	lock, err := images.ReadLock(filepath.Join(inv.Dir, "deployer.lock"))
	if err != nil {
		return nil, usageError(err)
	}
	source, err := images.OpenSource(spec.Source, inv.Dir)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", inv.File, err))
	}
	return &images.Resolver{Catalogue: catalogue, Store: store, Lock: lock, Source: source}, nil
}

// nameArtifacts lists what this cluster needs: of the two API proxies only the
// one that it uses.
func (p *project) nameArtifacts(architectures []string) error {
	versions := roles.Versions(p.cluster)
	p.images = map[string]string{}
	for _, name := range p.artifacts.Catalogue.Names() {
		artifact, err := p.artifacts.Catalogue.Artifact(name)
		if err != nil {
			return err
		}
		version, ok := versions[name]
		if !ok {
			return fmt.Errorf("artifact %s of the catalogue has no version in the cluster", name)
		}
		ref := images.Ref{Name: name, Version: version}
		if artifact.Kind == images.KindImage {
			p.images[name] = artifact.ImageName(ref)
		}
		if other := (name == cluster.ProxyNginx || name == cluster.ProxyHAProxy) && name != p.cluster.Proxy.Kind; other {
			continue
		}
		for _, arch := range architectures {
			ref.Arch = arch
			p.refs = append(p.refs, ref)
		}
	}
	return nil
}

// addProbe names the image that verify runs, which is made of the agent, and
// completes the variables with it.
func (p *project) addProbe() error {
	digest, err := agents.Embedded{}.AgentDigest(p.arch)
	if err != nil {
		return err
	}
	p.images[probeName] = images.ProbeName(images.ProbeTag(digest))
	if p.variables, err = roles.NewVariables(p.inv, p.cluster, p.images); err != nil {
		return err
	}
	return nil
}

// problemsOf gives the lines of a static validation their place in the file.
func problemsOf(inv *inventory.Inventory, err error) error {
	var problems cluster.Problems
	if !errors.As(err, &problems) {
		return err
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		place := inv.File
		if node := find(inv.Cluster, strings.TrimPrefix(p.Subject, "cluster.")); node != nil {
			place = strictyaml.At(inv.File, node).String()
		}
		errs[i] = fmt.Errorf("%s: %s", place, p)
	}
	return errors.Join(errs...)
}

// find walks mappings along a dotted path to the key that it ends with, nil when
// the file does not have it: then a default is the problem.
func find(node *yaml.Node, path string) *yaml.Node {
	key, rest, more := strings.Cut(path, ".")
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		switch {
		case node.Content[i].Value != key:
		case more:
			return find(node.Content[i+1], rest)
		default:
			return node.Content[i]
		}
	}
	return nil
}
