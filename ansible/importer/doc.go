// Package importer reads inventories of Ansible and Kubespray and writes them as an
// inventory of deployer.
//
// The package reads the INI and the YAML form, the JSON that `ansible-inventory --list` prints
// (for dynamic inventories and plugins), and the group_vars and host_vars beside them.
// From an inventory of Kubespray it takes the roles and the settings of the cluster
// too. A setting without an equivalent becomes a [Note] with its file and line; only
// settings that switch a feature off, and details of such a feature, are left out.
//
// [Read] parses, [Source.Convert] translates; neither contacts a host.
package importer
