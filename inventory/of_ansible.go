package inventory

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// ofAnsible returns what to do with a file that cannot be read because it is an inventory
// of Ansible, or a program that prints one; nil for another file.
func ofAnsible(file string, data []byte) error {
	if !bytes.HasPrefix(data, []byte("#!")) && !isINI(data) && !isAnsibleYAML(data) {
		return nil
	}
	return strictyaml.Join(strictyaml.Pos{File: file}.Errorf("this is an inventory of Ansible: `deployer inventory import %s -f inventory.yaml` "+
		"converts it, and `deployer convert` playbooks and roles; see the guide \"From Ansible to deployer\"", file))
}

// sectionLine matches the line that opens a section of an INI file.
var sectionLine = regexp.MustCompile(`(?m)^\[[^\[\]\s,"']+\][ \t]*(#.*)?\r?$`)

// isINI reports whether data has a section of an INI file, or lines of hosts with
// variables, and is no mapping of YAML.
func isINI(data []byte) bool {
	var root yaml.Node
	if yaml.Unmarshal(data, &root) == nil && len(root.Content) > 0 && root.Content[0].Kind == yaml.MappingNode {
		return false
	}
	return sectionLine.Match(data) || hostLine.Match(data)
}

// hostLine matches a host with a connection variable.
var hostLine = regexp.MustCompile(`(?m)^[^\s#;]+[ \t].*\bansible_[a-z_]+=`)

// isAnsibleYAML reports whether data is the YAML or JSON form of an inventory, or the
// configuration of a plugin: groups with hosts, children and vars at the top.
func isAnsibleYAML(data []byte) bool {
	var root yaml.Node
	if yaml.Unmarshal(data, &root) != nil || len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return false
	}
	groups := 0
	top := root.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		switch key := top.Content[i].Value; {
		case slices.Contains(ownKeys, key):
			return false
		case key == "plugin" || key == "_meta":
			return true
		case isGroup(top.Content[i+1]):
			groups++
		}
	}
	return groups > 0
}

// ownKeys are the keys at the top of an inventory.
var ownKeys = []string{"artifacts", "cluster", "distribution", "extends", "forks", "groups", "hosts", "max_fail", "node_interface", "node_network", "roles", "ssh", "vars"}

// isGroup reports whether a node is a group of Ansible with something in it.
func isGroup(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains([]string{"hosts", "children", "vars"}, n.Content[i].Value) {
			return false
		}
	}
	return true
}

// directoryError is the error for an inventory that is a directory.
func directoryError(path string) error {
	return fmt.Errorf("inventory %s is a directory: name the file; a directory with an inventory of Ansible is converted by "+
		"`deployer inventory import %s -f inventory.yaml`", path, path)
}
