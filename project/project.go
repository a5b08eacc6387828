package project

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/addons"
	"deployer/cluster"
	"deployer/cluster/componentconfig"
	"deployer/engine/lang"
	"deployer/engine/remote"
	"deployer/images"
	"deployer/inventory"
	"deployer/strictyaml"
)

// DefaultInventory is the inventory file used when none is named.
const DefaultInventory = "inventory.yaml"

// Options come from the program that loads a project.
type Options struct {
	// Open decrypts the content of a file whose name ends in .age; with nil such
	// a file is an error.
	Open func(file string, content []byte) ([]byte, error)
	// LookupEnv returns the value of an environment variable, for the tag !env; nil means
	// os.LookupEnv.
	LookupEnv func(name string) (value string, set bool)
	// Playbook is the directory of the playbook, whose group_vars and host_vars are
	// read too; empty for none.
	Playbook string
	// Kubernetes overrides the version of the inventory; empty: the inventory's.
	Kubernetes string
	// Bundle is the path of a bundle that overrides the source of artifacts; empty: the
	// inventory's source. With BundleKey, the path of a minisign public key, the bundle
	// must be signed by it.
	Bundle, BundleKey string
	// Agents provides the agent binaries for hosts.
	Agents remote.BinarySource
	// Keepers provides the keepers of masters; may be nil where no cluster is installed.
	Keepers KeeperSource
	// Confined is the directory of a revision that nobody has approved. Files outside of it
	// are not opened, and the lookups file, env and password are not evaluated
	// (lang.UnknownLookups): what the revision says must not read or write anything else of this
	// machine. Empty: all files.
	Confined string
	// Lookups decides about the lookups file, env and password; nil evaluates them, unless
	// Confined is set.
	Lookups *lang.Lookups
	// IsPlaceholder reports whether a value that LookupEnv returned is no secret; nil: none is.
	IsPlaceholder func(value string) bool
	// Conformance adds the images of the conformance tests of Kubernetes to the artifacts.
	Conformance bool
	// HostsOnly makes Load leave out the cluster, which may lack the node addresses of hosts.
	HostsOnly bool
	// Groups are added to those of the inventory; only LoadCluster uses them.
	Groups RunGroups
}

// Project is the input of runs, read and resolved without the network.
type Project struct {
	Options
	Inventory *inventory.Inventory
	// Cluster is the cluster of the inventory; nil when the inventory has no master.
	Cluster *cluster.Cluster
	// Departure is the part of the cluster that Options.Groups takes out; nil when no host leaves.
	Departure *cluster.Departure
	Addons    *addons.Set // add-ons of the cluster, read and rendered
	Artifacts *images.Resolver
	Needed    []images.Ref // artifacts of the cluster
	Arch      string       // the first of artifacts.architectures
	Source    string       // artifacts.source of the inventory; empty: none is given
	Hosts     []string     // hosts that a run may contact, in inventory order
	// MissingImages names the images of conformance tests that Fetch could not get; empty: none.
	MissingImages string

	images map[string]string // full references of container images in the cluster's versions, by catalogue name
	groups map[string][]string

	architectures []string     // artifacts.architectures
	addonImages   []images.Ref // of add-ons, without an architecture
	conformance   []images.Ref // of conformance tests, without an architecture
	recorder      *fileRecorder
}

// LoadCluster reads an inventory and resolves its cluster. Project.Hosts are the hosts
// that have a role in the cluster. An inventory without a master is a *UserError.
func LoadCluster(file string, o Options) (*Project, error) {
	p, spec, err := read(file, o)
	if err != nil {
		return nil, p.hideSecrets(err)
	}
	if err := o.Groups.check(p.Inventory); err != nil {
		return nil, err
	}
	if err := p.resolve(spec); err != nil {
		return nil, p.hideSecrets(err)
	}
	return p, nil
}

// Load reads an inventory for user playbooks. The inventory may describe no cluster; Project.Hosts
// are all its hosts, with a role or without.
func Load(file string, o Options) (*Project, error) {
	p, spec, err := read(file, o)
	if err != nil {
		return nil, p.hideSecrets(err)
	}
	if o.HostsOnly || len(p.Inventory.Roles[inventory.Master]) == 0 {
		p.groups = p.Inventory.Table()
	} else if err := p.resolve(spec); err != nil {
		return nil, p.hideSecrets(err)
	}
	p.Hosts = p.Inventory.Names()
	p.groups["all"] = p.Hosts
	return p, nil
}

// read reads the inventory and reports the errors of all its sections together. With an
// error, the project has the secrets that were found before it.
func read(file string, o Options) (*Project, ArtifactsSpec, error) {
	if o.Confined != "" {
		o.Lookups = lang.UnknownLookups()
	}
	p := &Project{Options: o}
	files, err := openSourceFiles(o.Confined)
	if err != nil {
		return p, ArtifactsSpec{}, err
	}
	p.recorder = newFileRecorder(files)
	p.Inventory, err = inventory.Load(file, inventory.Options{Open: o.Open, Read: p.recorder.readFile, LookupEnv: o.LookupEnv, Playbook: o.Playbook})
	if p.Inventory == nil {
		return p, ArtifactsSpec{}, AsUserError(err)
	}
	spec, artifactsErr := artifactsOf(p.Inventory)
	_, clusterErr := ClusterSpec(p.Inventory)
	if err = strictyaml.Join(err, artifactsErr, clusterErr); err != nil {
		return p, spec, AsUserError(err)
	}
	p.Arch, p.Source = spec.Architectures[0], spec.Source
	p.Artifacts, err = resolver(p.Inventory, spec, o, p.recorder.files)
	return p, spec, err
}

// resolve resolves and checks the cluster of the inventory.
func (p *Project) resolve(spec ArtifactsSpec) (err error) {
	if err := p.resolveCluster(); err != nil {
		return err
	}
	if err := p.readExternalAuthorities(time.Now()); err != nil {
		return AsUserError(err)
	}
	if err := p.checkProxyCertificate(time.Now()); err != nil {
		return AsUserError(err)
	}
	if err := componentErrors(p.Inventory, componentconfig.Check(p.Cluster)); err != nil {
		return AsUserError(err)
	}
	if err := p.listArtifacts(spec.Architectures); err != nil {
		return AsUserError(err)
	}
	p.architectures = spec.Architectures
	p.listCharts()
	if err := p.readAddons(); err != nil {
		return AsUserError(err)
	}
	p.listAddonImages()
	if p.Conformance {
		if err := p.listConformanceImages(); err != nil {
			return AsUserError(err)
		}
	}
	p.Hosts, p.groups = ClusterHosts(p.Inventory, p.Cluster), ClusterGroups(p.Inventory, p.Cluster)
	p.addRunGroups()
	return p.resolveCritical()
}

// resolveCritical replaces the patterns of cluster.rollout.critical by the names of the hosts
// of the run that they match. A pattern that matches no host of the inventory is a
// *UserError.
func (p *Project) resolveCritical() error {
	patterns := p.Cluster.Rollout.Critical
	p.Cluster.Rollout.Critical = []string{}
	for _, pattern := range patterns {
		hosts, err := inventory.Match(pattern, p.Inventory.Names(), p.groups)
		if err == nil && len(hosts) == 0 {
			err = fmt.Errorf("pattern %q matches no host", pattern)
		}
		if err != nil {
			return AsUserError(withPositions(p.Inventory, cluster.Problems{{Code: "unknown-host", Subject: "cluster.rollout.critical", Message: err.Error()}}))
		}
		for _, host := range hosts {
			if slices.Contains(p.Hosts, host) && !slices.Contains(p.Cluster.Rollout.Critical, host) {
				p.Cluster.Rollout.Critical = append(p.Cluster.Rollout.Critical, host)
			}
		}
	}
	return nil
}

// resolveCluster resolves the cluster as it is after hosts have left it, if any do.
func (p *Project) resolveCluster() (err error) {
	offered := p.Artifacts.Source.Versions()
	if p.Cluster, err = resolveChanged(p.Inventory, p.Kubernetes, offered, nil, p.recorder.files); err != nil {
		return AsUserError(withPositions(p.Inventory, err))
	}
	gone := p.Groups.gone()
	if len(gone) == 0 {
		return nil
	}
	before := p.Cluster
	if p.Cluster, err = resolveChanged(p.Inventory, p.Kubernetes, offered, p.Groups.change, p.recorder.files); err != nil {
		return AsUserError(fmt.Errorf("the cluster after %s have left: %w", strings.Join(gone, ", "), withPositions(p.Inventory, err)))
	}
	return p.depart(before)
}

// Variables returns the variables of tasks. With a cluster they include the probe
// image, which is named after the digest of the agent.
func (p *Project) Variables() (*Variables, error) {
	given, err := hostVars(p.Inventory, p.hostVarCompiler())
	if err != nil {
		return nil, p.hideSecrets(AsUserError(err))
	}
	if p.Cluster == nil {
		return WithoutCluster(p.Inventory, given), nil
	}
	if err := p.addHooks(given); err != nil {
		return nil, p.hideSecrets(err)
	}
	digest, err := p.Agents.AgentDigest(p.Arch)
	if err != nil {
		return nil, err
	}
	p.images[ProbeName] = images.ProbeName(images.ProbeTag(digest))
	v, err := NewVariables(p.Inventory, given, p.Cluster, Images{Cluster: p.images, Name: p.imageName})
	if err != nil {
		return nil, err
	}
	v.SetGroups(p.groups)
	v.SetKeepers(p.Keepers)
	return v, v.SetDeparture(p.Departure)
}

// Match returns the hosts of a pattern. Roles in it are those of the resolved cluster,
// if there is one.
func (p *Project) Match(pattern string) ([]string, error) {
	return inventory.Match(pattern, p.Hosts, p.groups)
}
