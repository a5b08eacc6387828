package main

import "strings"

// rooted returns the flags of a component of a master whose files are below root. Only paths below
// /etc and /var are those of files: `--etcd-servers-overrides=/events#...` begins with a slash, too.
func rooted(flags []string, root string) []string {
	out := make([]string, len(flags))
	for i, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		if strings.HasPrefix(value, "/etc/") || strings.HasPrefix(value, "/var/") {
			value = root + value
		}
		out[i] = name + "=" + value
	}
	return out
}
