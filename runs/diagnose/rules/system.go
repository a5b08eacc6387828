package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The use of a file system in percent from which it is reported. The kubelet removes
// images from 85 % and evicts pods from 90 % (imageGCHighThresholdPercent,
// evictionHard of nodefs.available).
const (
	diskWarning  = 85
	diskCritical = 90
)

// disks reads the tables of df -P: blocks, then inodes.
func disks(h Host) []Finding {
	var out []Finding
	what := "space"
	for _, line := range h.lines("system/disks.txt") {
		if strings.HasPrefix(line, "# inodes") {
			what = "inodes"
		}
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		used, err := strconv.Atoi(strings.TrimSuffix(f[4], "%"))
		if err != nil || used < diskWarning {
			continue
		}
		severity := Warning
		if used >= diskCritical {
			severity = Critical
		}
		out = append(out, Finding{Severity: severity, Title: "file system almost full", File: "system/disks.txt",
			Evidence: fmt.Sprintf("%s: %d %% of the %s used", strings.Join(f[5:], " "), used, what),
			Advice:   "remove what is not needed, or give the file system more room; the kubelet evicts pods from 90 %"})
	}
	return out
}

// memoryShare is the share of available memory in percent below which it is reported.
const memoryShare = 5

// memory reads /proc/meminfo.
func memory(h Host) []Finding {
	values := map[string]int{}
	for _, line := range h.lines("system/summary.txt") {
		name, rest, ok := strings.Cut(line, ":")
		if f := strings.Fields(rest); ok && len(f) == 2 && f[1] == "kB" {
			values[name], _ = strconv.Atoi(f[0])
		}
	}
	total, available := values["MemTotal"], values["MemAvailable"]
	if total == 0 || available*100 >= total*memoryShare {
		return nil
	}
	return []Finding{{Severity: Warning, Title: "memory almost used up", File: "system/processes.txt",
		Evidence: fmt.Sprintf("%d of %d MiB available", available/1024, total/1024),
		Advice:   "see which processes use it; set limits on pods, or reserve memory for the system"}}
}

// The difference of a clock from which it is reported: etcd warns from one second
// between members, and certificates of other hosts are not valid yet when a clock is far
// behind.
const (
	clockWarning  = time.Second
	clockCritical = 30 * time.Second
)

// clock compares the host's time with the interval in which the host was asked. The
// interval ends when the output arrived, so a slow connection gives no finding.
func clock(h Host) []Finding {
	const file = "system/clock.txt"
	lines := h.lines(file)
	if len(lines) == 0 {
		return nil
	}
	var out []Finding
	seconds, err := strconv.ParseFloat(strings.TrimSpace(lines[0]), 64)
	if err == nil && !h.Connected.IsZero() {
		at := time.Unix(0, int64(seconds*float64(time.Second)))
		off, word := time.Duration(0), ""
		switch {
		case at.Before(h.Connected):
			off, word = h.Connected.Sub(at), "behind"
		case at.After(h.Files[file].Received):
			off, word = at.Sub(h.Files[file].Received), "ahead of"
		}
		severity := Warning
		if off >= clockCritical {
			severity = Critical
		}
		if off >= clockWarning {
			out = append(out, Finding{Severity: severity, Title: "clock differs", File: file,
				Evidence: fmt.Sprintf("%s %s the clock of this machine", off.Round(100*time.Millisecond), word),
				Advice:   "check the time service (timedatectl, chronyc tracking); etcd and certificates need equal clocks"})
		}
	}
	for _, line := range lines[1:] {
		if line == "NTPSynchronized=no" {
			out = append(out, Finding{Severity: Info, Title: "clock is not synchronized", File: file, Evidence: line,
				Advice: "enable a time service, such as chrony or systemd-timesyncd"})
		}
	}
	return out
}

// blockedLimit is the number of processes in uninterruptible sleep from which they are
// reported.
const blockedLimit = 5

// blockedProcesses reads the table of ps: the fourth column is the state.
func blockedProcesses(h Host) []Finding {
	var names []string
	for _, line := range h.lines("system/processes.txt") {
		if f := strings.Fields(line); len(f) >= 9 && strings.HasPrefix(f[3], "D") {
			names = append(names, f[8])
		}
	}
	if len(names) < blockedLimit {
		return nil
	}
	return []Finding{{Severity: Warning, Title: "processes wait for a disk or a network file system", File: "system/processes.txt",
		Evidence: fmt.Sprintf("%d in state D: %s", len(names), strings.Join(names[:blockedLimit], ", ")), Advice: "look for errors of disks in system/kernel.log"}}
}

// reboot reports that a package wants a reboot.
func reboot(h Host) []Finding {
	found := h.matching("system/summary.txt", "/run/reboot-required")
	if len(found) == 0 {
		return nil
	}
	return []Finding{{Severity: Info, Title: "reboot required", Evidence: found[0],
		Advice: "reboot hosts one by one, with drains", Guide: "guides/reboots.md"}}
}

// pendingHandlers reports handlers that a killed run has left to be executed.
func pendingHandlers(h Host) []Finding {
	lines := h.lines("runs/journals.txt")
	for i, line := range lines {
		if line == "==> pending handlers" && i+1 < len(lines) {
			return []Finding{{Severity: Warning, Title: "handlers of an interrupted run are pending", File: "runs/journals.txt", Evidence: lines[i+1],
				Advice: "deployer resume, or run the same playbook again", Guide: "guides/runbooks.md#a-run-is-stuck-or-its-controller-is-gone"}}
		}
	}
	return nil
}
