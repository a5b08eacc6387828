package importer

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// cfgSettings are the settings of ansible.cfg that change values or logins, with what to
// do instead.
var cfgSettings = map[string]string{
	"hash_behaviour":          "is not applied: mappings of different levels replace each other here; write the merged mapping",
	"precedence":              "is not applied: groups win by depth, priority and name",
	"force_valid_group_names": "is not applied: groups have the names of the inventory",
	"remote_user":             "set ssh.user",
	"remote_port":             "set ssh.port",
	"private_key_file":        "set ssh.key",
	"become":                  "set ssh.become",
	"become_method":           "set ssh.become",
	"become_user":             "set become_user in the plays and tasks that need another user than root",
	"host_key_checking":       "host keys are always checked; ssh.host_keys: accept-new adds unknown ones",
	"ssh_args":                "set bastions in ssh.bastion, other options in ~/.ssh/config",
	"ssh_common_args":         "set bastions in ssh.bastion, other options in ~/.ssh/config",
	"ssh_extra_args":          "set bastions in ssh.bastion, other options in ~/.ssh/config",
}

var cfgLine = regexp.MustCompile(`^([a-z_]+)\s*[=:]\s*(.*?)\s*$`)

// noteConfig notes the settings of ansible.cfg. Ansible reads the one of the directory in
// which it runs: the present one, or that of the inventory, or one of two above that.
func (s *Source) noteConfig(dir string) {
	for _, place := range []string{".", dir, filepath.Join(dir, ".."), filepath.Join(dir, "..", "..")} {
		data, err := os.ReadFile(filepath.Join(place, "ansible.cfg"))
		if err != nil {
			continue
		}
		for i, line := range lineEnds.Split(string(data), -1) {
			m := cfgLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			if why, ok := cfgSettings[m[1]]; ok && !isDefault(m[1], m[2]) {
				s.note(placeOf(filepath.Join(place, "ansible.cfg"), i+1), assigned(m[1], m[2]), why)
			}
		}
		return
	}
}

// isDefault reports whether a setting says what holds without it.
func isDefault(name, text string) bool {
	switch name {
	case "hash_behaviour":
		return text == "replace"
	case "become":
		return !isTrue(text)
	case "host_key_checking":
		return isTrue(text)
	case "become_user":
		return text == "root"
	case "force_valid_group_names":
		return text == "never" || text == "ignore"
	}
	return false
}
