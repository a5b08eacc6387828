package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// kernelSigns are texts of kernel messages that indicate a problem.
var kernelSigns = []struct {
	texts    []string
	severity Severity
	title    string
	advice   string
}{
	{[]string{"Out of memory: Killed process"}, Critical, "the kernel has killed processes: no memory", "reserve memory for the system, limit pods, or add memory"},
	{[]string{"Memory cgroup out of memory: Killed process"}, Warning, "processes have exceeded their memory limit and were killed", "see which pod it was, and raise its limit or find the leak"},
	{[]string{"I/O error, dev ", "Buffer I/O error", "critical medium error", "EXT4-fs error", "XFS (", "BTRFS error"}, Critical, "errors of a disk or file system", "replace the disk; take the node out of use first"},
	{[]string{"Remounting filesystem read-only", "Shutting down filesystem"}, Critical, "a file system is read-only after an error", "check the file system and its disk"},
	{[]string{"table full, dropping packet"}, Critical, "the table of connections is full, packets are lost", "raise net.netfilter.nf_conntrack_max in cluster.sysctls"},
	{[]string{"blocked for more than"}, Warning, "processes hang in the kernel", "look for a slow disk or an unreachable network file system"},
	{[]string{"soft lockup", "hard LOCKUP", "rcu_sched self-detected stall"}, Critical, "a CPU hangs", "check the machine, or the load of its hypervisor"},
	{[]string{"neighbour: arp_cache: neighbor table overflow", "neighbor table overflow"}, Critical, "the table of neighbours is full", "raise net.ipv4.neigh.default.gc_thresh3 in cluster.sysctls"},
	{[]string{"temperature above threshold", "Machine check events", "Hardware Error"}, Warning, "errors of the hardware", "check the machine's own log (IPMI)"},
}

// xfsHarmless are messages of XFS that are no errors.
var xfsHarmless = regexp.MustCompile(`XFS \([^)]*\): (Mounting|Ending clean mount|Unmounting|Starting recovery|Ending recovery|EXPERIMENTAL|Deprecated|Quotacheck)`)

// kernelMessages reads the log of the kernel since its start.
func kernelMessages(h Host) []Finding {
	var out []Finding
	for _, sign := range kernelSigns {
		var found []string
		for _, line := range h.matching("system/kernel.log", sign.texts...) {
			if !xfsHarmless.MatchString(line) && !(strings.Contains(line, "Memory cgroup") && strings.HasPrefix(sign.texts[0], "Out of")) {
				found = append(found, line)
			}
		}
		if len(found) > 0 {
			out = append(out, Finding{Severity: sign.severity, Title: sign.title, File: "system/kernel.log",
				Evidence: counted(found), Advice: sign.advice})
		}
	}
	return out
}

// counted returns the last line of several, with their number.
func counted(lines []string) string {
	last := lines[len(lines)-1]
	if len(lines) == 1 {
		return last
	}
	return fmt.Sprintf("%d times, last: %s", len(lines), last)
}
