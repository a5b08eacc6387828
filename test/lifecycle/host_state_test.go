//go:build lab

package lifecycle

import (
	"regexp"
	"strings"
)

// hostState lists what an installation may leave on a host: files with modes and owners,
// those of /etc with their content, enabled and failed units, users, links, routes and rules
// of the kernel. Logs, caches, locks and the records of deployer are left out, as reset
// leaves them.
func (s *site) hostState(host string) []string {
	s.T.Helper()
	return strings.Split(s.Shell(host, `
for d in / /var/lib/containerd /var/lib/kubelet /var/lib/etcd /var/lib/cni /run; do
  find $d -xdev \( -path /run/user -o -path /run/log -o -path /run/systemd -o -path /run/udev -o -path /var/log -o -path /var/cache \
    -o -path /var/lib/deployer -o -path /var/lib/systemd -o -path /var/lib/dpkg -o -path /var/backups -o -path /tmp -o -path /var/tmp -o -path /root \) -prune \
    -o -printf '%M %u %g %p\n' 2>/dev/null
done | sort -u
find /etc -xdev -type f -exec sha256sum {} +
systemctl list-unit-files --state=enabled --no-legend | sed 's/^/unit /'
systemctl list-units --state=failed --no-legend --plain | sed 's/^/failed /'
getent passwd | sed 's/^/user /'
ip -o link | sed 's/^[0-9]*: \([^:@]*\).*/link \1/'
ip route | sed 's/^/route /'
nft -s list ruleset 2>/dev/null | sed 's/^/nft /'
cut -d ' ' -f 2,3 /proc/self/mounts | sed 's/^/mount /'
`), "\n")
}

// kept matches lines of what reset leaves, which docs/guides/scale.md names, and of
// directories that are mount points of the lab or that the lab lacks.
var kept = regexp.MustCompile(`^user etcd:|/etc/g?shadow-?$|/etc/(passwd|group)-?$` +
	`|^nft (table ip6? \w+ \{|\tchain [A-Z]+ \{|\t\ttype \w+ hook .*; policy accept;|\t?\})?$| /run/xtables\.lock$` +
	`| /var/lib/(etcd|containerd)$| /usr/lib/modules$`)

// requireState checks that a host is as it was before its installation, but for what reset
// keeps and the lines that also matches.
func (s *site) requireState(host string, before []string, also *regexp.Regexp) {
	s.T.Helper()
	after := s.hostState(host)
	var diff []string
	for _, side := range []struct {
		sign        string
		lines, than []string
	}{{"-", before, after}, {"+", after, before}} {
		known := map[string]bool{}
		for _, line := range side.than {
			known[line] = true
		}
		for _, line := range side.lines {
			if !known[line] && !kept.MatchString(line) && !(also != nil && also.MatchString(line)) {
				diff = append(diff, side.sign+" "+line)
			}
		}
	}
	if len(diff) > 0 {
		s.T.Errorf("%s after the reset (- before the installation, + after):\n%s", host, strings.Join(diff, "\n"))
	}
}
