// Package ansible reads inventories of Ansible and Kubespray and says them in
// deployer's words.
//
// It reads the INI and the YAML form, the JSON that `ansible-inventory --list`
// prints (for dynamic inventories and plugins), and the group_vars and host_vars
// beside them. Whatever has no equivalent is not dropped: it is a [Note], with
// the place that it stood at.
package ansible
