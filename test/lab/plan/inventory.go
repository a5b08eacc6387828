package plan

import (
	"fmt"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// Files are the paths in a lab's state directory.
type Files struct{ Dir string }

// Key is the controller's private key.
func (f Files) Key() string { return filepath.Join(f.Dir, "id_ed25519") }

// PublicKey is the controller's public key, for the hosts' authorized_keys files.
func (f Files) PublicKey() string { return f.Key() + ".pub" }

// KnownHosts contains the host keys, read from the hosts themselves.
func (f Files) KnownHosts() string { return filepath.Join(f.Dir, "known_hosts") }

// SSHConfig is a configuration for `ssh -F` with every host by its name.
func (f Files) SSHConfig() string { return filepath.Join(f.Dir, "ssh_config") }

// Inventory is deployer's inventory of the lab.
func (f Files) Inventory() string { return filepath.Join(f.Dir, "inventory.yaml") }

// Artifacts is the directory of binaries and images from `deployer artifacts build`:
// hosts of a lab cannot reach publishers, and get the artifacts of the machine.
func (f Files) Artifacts() string {
	return filepath.Join(filepath.Dir(filepath.Dir(f.Dir)), "artifacts-src")
}

// State is the file with the state of the lab.
func (f Files) State() string { return filepath.Join(f.Dir, "state.json") }

// The inventory is marshalled from these types, so that the order of keys is fixed and
// texts are quoted by the marshaller, which also sorts maps.
type inventory struct {
	Cluster   clusterPart         `yaml:"cluster"`
	Artifacts artifactsPart       `yaml:"artifacts"`
	SSH       sshPart             `yaml:"ssh"`
	Hosts     map[string]hostPart `yaml:"hosts"`
	Roles     map[string][]string `yaml:"roles"`
}

type clusterPart struct {
	Name       string                    `yaml:"name"`
	Kubernetes string                    `yaml:"kubernetes"`
	Overrides  map[string]map[string]any `yaml:"overrides"`
}

type artifactsPart struct {
	Source string `yaml:"source"`
}

type sshPart struct {
	Config     string `yaml:"config"` // none: the SSH configuration of the machine's user does not apply to the lab
	User       string `yaml:"user"`
	Key        string `yaml:"key"`
	KnownHosts string `yaml:"known_hosts"`
}

type hostPart struct {
	Address string `yaml:"address"`
}

// Kubernetes is the version in a generated inventory.
const Kubernetes = "v1.36.3"

// Inventory renders the inventory of a lab with these hosts.
func Inventory(files Files, hosts []Host) ([]byte, error) {
	inv := inventory{
		Cluster:   clusterPart{Name: "lab", Kubernetes: Kubernetes, Overrides: nestedOverrides()},
		Artifacts: artifactsPart{Source: files.Artifacts()},
		SSH:       sshPart{Config: "none", User: "root", Key: files.Key(), KnownHosts: files.KnownHosts()},
		Hosts:     map[string]hostPart{},
		Roles:     map[string][]string{},
	}
	for _, h := range hosts {
		inv.Hosts[h.Name] = hostPart{Address: h.Address.String()}
		if h.Role != "" {
			inv.Roles[h.Role] = append(inv.Roles[h.Role], h.Name)
		}
	}
	out, err := yaml.Marshal(inv)
	if err != nil {
		return nil, fmt.Errorf("rendering inventory: %w", err)
	}
	return out, nil
}

// nestedOverrides are the settings for hosts that are containers on one machine. They
// are not suitable as defaults of deployer.
//   - restrict_oom_score_adj: without CAP_SYS_RESOURCE no score may be lowered.
//   - failCgroupV1, cgroupDriver: the machine may mount cgroup v1, and a nested
//     host's cgroup files are writable directly.
//   - failSwapOn: the machine's swap is visible in every host.
//   - KubeletInUserNamespace: kubelet then tolerates sysctls and limits that it
//     may not set.
//   - evictionHard, imageGCHighThresholdPercent: all hosts share the machine's disk.
//     With thresholds in percent the kubelets would taint all nodes and remove images
//     while tens of gigabytes are free.
//   - conntrack maxPerCore 0: nf_conntrack_max belongs to the machine.
func nestedOverrides() map[string]map[string]any {
	return map[string]map[string]any{
		"containerd": {"restrict_oom_score_adj": true},
		"kubelet": {
			"failCgroupV1": false,
			"cgroupDriver": "cgroupfs",
			"failSwapOn":   false,
			"evictionHard": map[string]string{
				"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi", "nodefs.inodesFree": "1%",
			},
			"imageGCHighThresholdPercent": 100,
			"featureGates":                map[string]bool{"KubeletInUserNamespace": true},
		},
		"kube_proxy": {"conntrack": map[string]int{"maxPerCore": 0}},
	}
}
