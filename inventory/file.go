package inventory

import (
	"gopkg.in/yaml.v3"

	"deployer/limit"
	"deployer/strictyaml"
)

// file is the structure of an inventory file. The schema and the reference are generated
// from its tags.
type file struct {
	Extends      extendsList                      `yaml:"extends" doc:"Files that this one extends: a path, or a list of paths, relative to this file. Mappings merge at any depth; any other value replaces that of the files before it."`
	Cluster      *yaml.Node                       `yaml:"cluster" doc:"The cluster to install: name, versions, networks, settings of components."`
	Artifacts    *yaml.Node                       `yaml:"artifacts" doc:"Source of binaries and images: upstream, a mirror, a directory or a bundle."`
	SSH          strictyaml.Section[SSH]          `yaml:"ssh" doc:"SSH settings of all hosts."`
	Vars         freeSection                      `yaml:"vars" doc:"Variables for the playbooks of all hosts. Texts may contain {{ }}, which is evaluated with the variables of the task that reads the variable."`
	Network      network                          `yaml:"node_network" doc:"Network of the node addresses of hosts without node_address: deployer inventory addresses chooses the address that each host has in it, and records it beside the inventory. For both families, two networks separated by a comma."`
	Interface    networkInterface                 `yaml:"node_interface" doc:"As node_network, by the name of the interface, such as eth1; with both, the address is on the interface and in the network."`
	Hosts        strictyaml.Map[hostSection]      `yaml:"hosts" each:"host" required:"true" doc:"The hosts by name; a name may hold ranges, as in n[001:997]."`
	Groups       strictyaml.Map[groupSection]     `yaml:"groups" each:"group" doc:"Sets of hosts that share settings."`
	Roles        roleSection                      `yaml:"roles" doc:"Hosts of each role: a list of hosts, ranges and groups."`
	MaxFail      strictyaml.Map[limit.Limit]      `yaml:"max_fail" doc:"Number of hosts of a role, a group or all that may fail before a run stops: a number or a percentage, rounded down."`
	Distribution strictyaml.Section[Distribution] `yaml:"distribution" doc:"How large blobs, such as binaries and images, reach many hosts."`
	Forks        int                              `yaml:"forks" doc:"Maximum number of hosts processed in parallel." default:"50"`
}

type freeSection = strictyaml.Section[map[string]any]

type hostSection struct {
	Address         string                  `yaml:"address" doc:"IP address or name of the SSH server, also with a port, as 198.51.100.7:2201; may hold ranges, one address for each host of the name; default: the host's name."`
	NodeAddress     string                  `yaml:"node_address" doc:"IP address at which the other hosts of the cluster reach the host, which the node has on one of its interfaces; in a dual-stack cluster one of each family, as in 10.0.0.11,fd00::11; may hold ranges; default: address."`
	Network         network                 `yaml:"node_network" doc:"Network of the node address of this host; overrides that of its groups and of all hosts."`
	Interface       networkInterface        `yaml:"node_interface" doc:"Interface of the node address of this host; overrides that of its groups and of all hosts."`
	ExternalAddress string                  `yaml:"external_address" doc:"IP address or name at which clients outside of the cluster reach the host: certificates of API servers are valid for it, and kubeconfigs for clients have it; may hold ranges; default: none, and clients use the node's address."`
	SSH             strictyaml.Section[SSH] `yaml:"ssh" doc:"SSH settings of this host; they override those of its groups and of all hosts."`
	Vars            freeSection             `yaml:"vars" doc:"Variables for playbooks."`
	Overrides       freeSection             `yaml:"overrides" doc:"Settings of components on this host, merged deeply over those of its groups and of the cluster."`
	Labels          strictyaml.Map[string]  `yaml:"labels" doc:"Labels of the Kubernetes node."`
	Taints          []taint                 `yaml:"taints" doc:"Taints of the Kubernetes node, as key=value:Effect."`
}

type groupSection struct {
	Hosts     nameList                `yaml:"hosts" doc:"Hosts and ranges of hosts."`
	Children  nameList                `yaml:"children" doc:"Groups whose hosts belong to this group too."`
	Network   network                 `yaml:"node_network" doc:"Network of the node addresses of the hosts of this group."`
	Interface networkInterface        `yaml:"node_interface" doc:"Interface of the node addresses of the hosts of this group."`
	SSH       strictyaml.Section[SSH] `yaml:"ssh" doc:"SSH settings of the hosts of this group."`
	Vars      freeSection             `yaml:"vars" doc:"Variables for playbooks."`
	Overrides freeSection             `yaml:"overrides" doc:"Settings of components on the hosts of this group."`
	Labels    strictyaml.Map[string]  `yaml:"labels" doc:"Labels of the Kubernetes nodes of this group."`
	Taints    []taint                 `yaml:"taints" doc:"Taints of the Kubernetes nodes of this group, as key=value:Effect."`
}

type roleSection struct {
	Master nameList `yaml:"master" doc:"Hosts that run the control plane."`
	Minion nameList `yaml:"minion" doc:"Hosts that run the users' pods."`
	Etcd   nameList `yaml:"etcd" doc:"Hosts that run etcd; default: the masters."`
	Proxy  nameList `yaml:"proxy" doc:"Hosts that run an API proxy for clients outside of the cluster."`
}

func (r roleSection) lists() map[string]nameList {
	return map[string]nameList{Master: r.Master, Minion: r.Minion, Etcd: r.Etcd, Proxy: r.Proxy}
}
