package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const unitsFile = "units/state.txt"

// unit is the properties of a unit, by name.
type unit map[string]string

// units reads the output of systemctl show: blocks with an empty line between them. A unit
// that stands there twice counts once.
func (h Host) units() []unit {
	var out []unit
	seen := map[string]bool{}
	for block := range strings.SplitSeq(h.Files[unitsFile].Text, "\n\n") {
		u := unit{}
		for line := range strings.Lines(block) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				u[key] = value
			}
		}
		if id := u["Id"]; id != "" && !seen[id] {
			seen[id] = true
			out = append(out, u)
		}
	}
	return out
}

// failedUnits reports the failed units that are not deployer's, as those are rows of checks.
func failedUnits(h Host) []Finding {
	var out []Finding
	for _, u := range h.units() {
		if u["ActiveState"] == "failed" && !slices.Contains(h.Units, u["Id"]) {
			out = append(out, Finding{Severity: Warning, Title: "a unit of the host has failed", File: "units/failed.log",
				Evidence: fmt.Sprintf("%s: %s, exit status %s", u["Id"], u["Result"], u["ExecMainStatus"]),
				Advice:   "see its log; systemctl reset-failed when it is of no importance"})
		}
	}
	return out
}

// restartWarning is the number of restarts by systemd from which a unit is reported.
const restartWarning = 3

// unitRestarts reports units that systemd has started again and again.
func unitRestarts(h Host) []Finding {
	var out []Finding
	for _, u := range h.units() {
		n, err := strconv.Atoi(u["NRestarts"])
		if err != nil || n < restartWarning {
			continue
		}
		out = append(out, Finding{Severity: Warning, Title: "a unit was restarted by systemd", File: "units/" + u["Id"] + ".log",
			Evidence: fmt.Sprintf("%s: %d restarts, running since %s", u["Id"], n, u["ActiveEnterTimestamp"]), Advice: "see the end of its log before each restart"})
	}
	return out
}

// The restarts of a container from which it is reported, and the age in seconds of its
// newest log up to which it is restarting now. The longest back-off of the kubelet is five
// minutes.
const (
	containerWarning = 5
	containerFresh   = 600
)

// containerRestarts reads lines of a number of restarts, the age of the newest log in
// seconds, and NAMESPACE_POD_UID/CONTAINER/.
func containerRestarts(h Host) []Finding {
	var out []Finding
	for _, line := range h.lines("pods/restarts.txt") {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		n, err := strconv.Atoi(f[0])
		age, ageErr := strconv.Atoi(f[1])
		if err != nil || ageErr != nil || n < containerWarning {
			continue
		}
		pod, container, _ := strings.Cut(strings.Trim(f[2], "/"), "/")
		parts := strings.Split(pod, "_")
		system := parts[0] == "kube-system"
		if len(parts) == 3 {
			pod = parts[0] + "/" + parts[1]
		}
		found := Finding{Severity: Info, Title: "a container was restarted often", File: "pods/restarts.txt",
			Evidence: fmt.Sprintf("%s, container %s: %d restarts, last log %s ago", pod, container, n, seconds(age)), Advice: "see the log of the restart before (kubectl logs --previous)"}
		switch {
		case age <= containerFresh && system:
			found.Severity, found.Title, found.File = Critical, "a container of the system restarts again and again (CrashLoop)", "pods/kube-system.log"
		case age <= containerFresh:
			found.Severity, found.Title = Warning, "a container restarts again and again (CrashLoop)"
		}
		out = append(out, found)
	}
	return out
}

// seconds formats a number of seconds in the largest unit that fits.
func seconds(n int) string {
	switch {
	case n < 120:
		return fmt.Sprintf("%d s", n)
	case n < 2*3600:
		return fmt.Sprintf("%d min", n/60)
	case n < 2*86400:
		return fmt.Sprintf("%d h", n/3600)
	}
	return fmt.Sprintf("%d days", n/86400)
}
