package project

import (
	"deployer/cluster"
	"deployer/cluster/componentconfig"
	"deployer/engine/remote"
	"deployer/images"
	"deployer/inventory"
	"deployer/roles"
	"deployer/strictyaml"
)

// DefaultInventory is looked for in the working directory.
const DefaultInventory = "inventory.yaml"

// Options are what the program that loads a project brings along.
type Options struct {
	// Open decrypts the content of a file whose name ends in .age; with nil such
	// a file is an error.
	Open func(file string, content []byte) ([]byte, error)
	// Playbook is the directory of the playbook that is to be carried out; what is
	// in group_vars and host_vars there counts too. Empty for none.
	Playbook string
	// Agents are the programs that run on hosts.
	Agents remote.BinarySource
}

// Project is everything that is known of hosts without touching the network.
type Project struct {
	Options
	Inventory *inventory.Inventory
	// Cluster is what the inventory describes; nil when it has no master.
	Cluster   *cluster.Cluster
	Artifacts *images.Resolver
	Needed    []images.Ref // the artifacts that the cluster needs
	Arch      string       // that most hosts have: the first of artifacts.architectures
	Hosts     []string     // that runs are about, in inventory order

	images  map[string]string // full references of container images by catalogue name
	groups  map[string][]string
	witness *witness
}

// LoadCluster reads an inventory and resolves the cluster that it describes. Its
// hosts are those that have a part in the cluster.
func LoadCluster(file string, o Options) (*Project, error) {
	p, spec, err := read(file, o)
	if err != nil {
		return nil, err
	}
	if err := p.resolve(spec); err != nil {
		return nil, err
	}
	return p, nil
}

// Load reads an inventory for playbooks of the user's own, which may be without a
// cluster. All its hosts take part, those without a role too.
func Load(file string, o Options) (*Project, error) {
	p, spec, err := read(file, o)
	if err != nil {
		return nil, err
	}
	if len(p.Inventory.Roles[inventory.Master]) == 0 {
		p.groups = p.Inventory.Table()
	} else if err := p.resolve(spec); err != nil {
		return nil, err
	}
	p.Hosts = p.Inventory.Names()
	p.groups["all"] = p.Hosts
	return p, nil
}

// read reports what is wrong anywhere in the file at once, its sections included.
func read(file string, o Options) (*Project, ArtifactsSpec, error) {
	p := &Project{Options: o, witness: newWitness()}
	var err error
	p.Inventory, err = inventory.Load(file, inventory.Options{Open: o.Open, Read: p.witness.read, Playbook: o.Playbook})
	if p.Inventory == nil {
		return nil, ArtifactsSpec{}, Mistaken(err)
	}
	spec, artifactsErr := artifactsOf(p.Inventory)
	_, clusterErr := roles.Spec(p.Inventory)
	if err = strictyaml.Join(err, artifactsErr, clusterErr); err != nil {
		return nil, spec, Mistaken(err)
	}
	p.Arch = spec.Architectures[0]
	p.Artifacts, err = resolver(p.Inventory, spec)
	return p, spec, err
}

// resolve decides what can be known of the cluster that the inventory describes.
func (p *Project) resolve(spec ArtifactsSpec) (err error) {
	if p.Cluster, err = roles.Resolve(p.Inventory, p.Artifacts.Source.Versions()); err != nil {
		return Mistaken(placed(p.Inventory, err))
	}
	if err := misconfigured(p.Inventory, componentconfig.Check(p.Cluster)); err != nil {
		return Mistaken(err)
	}
	if err := p.nameArtifacts(spec.Architectures); err != nil {
		return Mistaken(err)
	}
	p.Hosts, p.groups = roles.InRun(p.Inventory, p.Cluster), roles.Groups(p.Inventory, p.Cluster)
	return nil
}

// Variables are those of the tasks. With a cluster they name the image that verify
// runs, so the agents must be at hand.
func (p *Project) Variables() (*roles.Variables, error) {
	given, err := hostVars(p.Inventory)
	if err != nil {
		return nil, Mistaken(err)
	}
	if p.Cluster == nil {
		return roles.PlainVariables(p.Inventory, given), nil
	}
	digest, err := p.Agents.AgentDigest(p.Arch)
	if err != nil {
		return nil, err
	}
	p.images[ProbeName] = images.ProbeName(images.ProbeTag(digest))
	return roles.NewVariables(p.Inventory, given, p.Cluster, p.images)
}

// Match resolves a pattern of hosts, by the roles of the resolved cluster where
// there is one.
func (p *Project) Match(pattern string) ([]string, error) {
	return inventory.Match(pattern, p.Hosts, p.groups)
}
