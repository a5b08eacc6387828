package preflight

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/engine/facts"
	"deployer/tasks/control/report"
)

// evaluate returns the rows of one host's identity.
func (r *Report) evaluate(id identity) []report.Row {
	if id.err != nil {
		return []report.Row{report.Bad("identity", id.host, "%v", id.err)}
	}
	return []report.Row{clock(id, r.MaxSkew), platform(id), operatingSystem(id)}
}

// clock returns the row for the difference of the clocks. The uncertainty of the
// measurement counts in favour of the host.
func clock(id identity, limit time.Duration) report.Row {
	off := id.skew.Abs()
	if off-id.uncertainty <= limit {
		return report.OK("time", id.host, "clocks differ by %s", off.Round(time.Millisecond))
	}
	way := "ahead of"
	if id.skew < 0 {
		way = "behind"
	}
	return report.Bad("time", id.host, "the host's clock is %s %s the controller's", off.Round(10*time.Millisecond), way).
		Advised("set up a time service, such as chrony or systemd-timesyncd, on both")
}

func platform(id identity) report.Row {
	switch id.arch {
	case "x86_64", "aarch64", "arm64":
		return report.OK("architecture", id.host, "%s", id.arch)
	}
	return report.Bad("architecture", id.host, "%s is not supported", id.arch).Advised("use a host with x86_64 or aarch64")
}

// minimumReleases are the oldest releases with the kernel, the cgroup v2 and the
// nftables that the components need. Releases of derivatives are not checked, as
// derivatives number them differently.
var minimumReleases = map[string]string{
	"debian": "12", "ubuntu": "22.04",
	"rhel": "9", "rocky": "9", "almalinux": "9", "centos": "9", "ol": "9",
	"sles": "15.5", "opensuse-leap": "15.5",
}

// operatingSystem returns the row for the distribution: its family must be one whose
// package names deployer knows, and its release recent enough.
func operatingSystem(id identity) report.Row {
	name := cmp.Or(id.os, "unknown") + " " + id.version
	minimum := minimumReleases[id.os]
	switch {
	case facts.Family(id.os, strings.Fields(id.like)) == "":
		return report.Bad("os", id.host, "%s is not supported", name).
			Advised("use Debian 12, Ubuntu 22.04, RHEL 9 or a rebuild of it, or SUSE 15.5, or newer")
	case minimum != "" && id.version != "" && older(id.version, minimum):
		return report.Bad("os", id.host, "%s is too old", name).Advised("use " + id.os + " " + minimum + " or newer")
	}
	return report.OK("os", id.host, "%s", name)
}

// older reports whether version a is before b; versions are numbers with dots, such as
// 22.04.
func older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		x, y := part(as, i), part(bs, i)
		if x != y {
			return len(x) < len(y) || len(x) == len(y) && x < y
		}
	}
	return false
}

func part(parts []string, i int) string {
	if i >= len(parts) {
		return ""
	}
	return strings.TrimLeft(parts[i], "0")
}

// duplicates returns the attributes that must differ between hosts and do not: the name,
// which identifies a host in the cluster, and the machine ID, which cloned machines
// share and DHCP and kubelets use as identity.
func duplicates(found []identity) []report.Row {
	var rows []report.Row
	for _, what := range []struct {
		check, text, fix string
		value            func(identity) string
	}{
		{"hostname", "has the host name", "give each host a name of its own with hostnamectl", func(i identity) string { return i.hostname }},
		{"machine-id", "has the machine ID", "remove /etc/machine-id on the clone and run systemd-machine-id-setup", func(i identity) string { return i.machineID }},
	} {
		owners := map[string][]string{}
		for _, id := range found {
			if v := what.value(id); id.err == nil && v != "" {
				owners[v] = append(owners[v], id.host)
			}
		}
		for _, value := range slices.Sorted(maps.Keys(owners)) {
			hosts := owners[value]
			for _, host := range hosts {
				if len(hosts) > 1 {
					others := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == host })
					rows = append(rows, report.Bad(what.check, host, "%s %s, as %s", what.text, value, strings.Join(others, ", ")).Advised(what.fix))
				}
			}
		}
	}
	return rows
}
