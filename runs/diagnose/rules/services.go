package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"deployer/shortlist"
)

// etcdSigns are texts of etcd's log, with the number of lines from which they are reported.
var etcdSigns = []struct {
	text     string
	least    int
	severity Severity
	title    string
	advice   string
}{
	{"slow fdatasync", 5, Warning, "the disk of etcd is slow", "give etcd a disk of its own (SSD)"},
	{"apply request took too long", 50, Warning, "etcd answers slowly", "check disk, CPU and network of the member"},
	{"leader failed to send out heartbeat on time", 5, Warning, "the leader of etcd is overloaded", "check disk and CPU of the member"},
	{"lost leader", 1, Info, "etcd has elected leaders again", "see what happened at that time on the leader"},
	{"database space exceeded", 1, Critical, "the database of etcd is full", "defragment it, and clear the alarm"},
	{"clock difference", 1, Warning, "etcd sees clocks that differ", "check the time service of the members"},
	{"failed to verify", 1, Warning, "etcd refuses certificates", "deployer certs list"},
}

// maxNamed is the maximum number of sessions or versions that a finding names.
const maxNamed = 5

// etcdLog looks for signs in the log of etcd.
func etcdLog(h Host) []Finding {
	const file = "units/etcd.service.log"
	var out []Finding
	for _, sign := range etcdSigns {
		found := h.matching(file, sign.text)
		if len(found) < sign.least {
			continue
		}
		guide := ""
		if sign.severity == Critical {
			guide = "guides/etcd.md#the-database-is-full"
		}
		out = append(out, Finding{Severity: sign.severity, Title: sign.title, File: file, Evidence: counted(found), Advice: sign.advice, Guide: guide})
	}
	return out
}

// bgpSessions reads the table of birdc show protocols: name, protocol, table, state, since,
// info.
func bgpSessions(h Host) []Finding {
	var down []string
	for _, line := range h.lines("network/bird.txt") {
		f := strings.Fields(line)
		if len(f) >= 4 && f[1] == "BGP" && f[len(f)-1] != "Established" && f[3] != "up" {
			down = append(down, f[0]+" ("+strings.Join(f[3:], " ")+")")
		}
	}
	if len(down) == 0 {
		return nil
	}
	return []Finding{{Severity: Warning, Title: "sessions of BGP are down", File: "network/bird.txt", Evidence: shortlist.Names(down, maxNamed),
		Advice: "pods of the nodes at the other end cannot be reached; is that host up, and port 179 open?"}}
}

// connectionTracking reads the line "conntrack: N of MAX".
func connectionTracking(h Host) []Finding {
	for _, line := range h.lines("network/rules.txt") {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] != "conntrack:" {
			continue
		}
		n, err := strconv.Atoi(f[1])
		most, mostErr := strconv.Atoi(f[3])
		if err == nil && mostErr == nil && most > 0 && n*10 >= most*9 {
			return []Finding{{Severity: Warning, Title: "the table of connections is almost full", File: "network/rules.txt",
				Evidence: fmt.Sprintf("%d of %d", n, most), Advice: "raise net.netfilter.nf_conntrack_max in cluster.sysctls, or look for the pod that opens the connections"}}
		}
	}
	return nil
}

// versions compares the versions of the host with those of the inventory.
func versions(h Host) []Finding {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(h.Wanted)) {
		if have, want := h.Versions[name], h.Wanted[name]; have != "" && want != "" && have != want {
			differ = append(differ, fmt.Sprintf("%s %s instead of %s", name, have, want))
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return []Finding{{Severity: Warning, Title: "versions differ from the inventory", Evidence: shortlist.Names(differ, maxNamed),
		Advice: "finish the upgrade that was interrupted, or start it: deployer upgrade", Guide: "guides/upgrade.md#when-it-stops"}}
}
