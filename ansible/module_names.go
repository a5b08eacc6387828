package ansible

// ModuleNames returns deployer's names of the modules and task keywords that Ansible
// calls otherwise. The keys are Ansible's names without their collection:
// ansible.posix.mount is mount. A value is the name alone, or the name, a comma and
// advice. The caller owns the map.
func ModuleNames() map[string]string {
	return map[string]string{
		"apt":               "package",
		"apt_key":           "repository, which takes the key with the source that it signs",
		"apt_repository":    "repository",
		"blockinfile":       "text_block",
		"deb822_repository": "repository",
		"dnf":               "package",
		"dnf5":              "package",
		"gather_facts":      "facts",
		"get_url":           "download",
		"import_role":       "include_role",
		"import_tasks":      "include_tasks",
		"include":           "include_tasks",
		"k8s":               "kube_apply",
		"k8s_drain":         "kube_drain, and kube_uncordon to take it back",
		"lineinfile":        "line",
		"local_action":      "delegate_to: localhost",
		"modprobe":          "kernel_module",
		"mount_facts":       "facts, with gather: [mounts]",
		"no_log":            "secret",
		"package_facts":     "facts, with gather: [packages]",
		"raw":               "shell",
		"rpm_key":           "repository, which takes the key with the source that it signs",
		"service_facts":     "facts, with gather: [services]",
		"set_fact":          "set",
		"setup":             "facts",
		"slurp":             "read",
		"synchronize":       "copy",
		"systemd":           "unit",
		"systemd_service":   "unit",
		"sysvinit":          "unit",
		"uri":               "wait_for, with http",
		"with_items":        "loop",
		"with_list":         "loop",
		"yum":               "package",
		"yum_repository":    "repository",
		"zypper":            "package",
		"zypper_repository": "repository",
		"pause":             "wait_for, with delay",
	}
}
