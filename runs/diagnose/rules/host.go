package rules

import (
	"slices"
	"strings"
	"time"
)

// Host has the data that was collected from one host.
type Host struct {
	Name string
	// Unreachable is the reason why the host could not be examined; empty when it was.
	Unreachable string
	// Connected is when the host connected, by the controller's clock.
	Connected time.Time
	Files     map[string]File // by name in the archive, such as system/clock.txt
	Units     []string        // systemd units that must run; their checks are rows
	// Versions and Wanted are the versions of components by program: those that the host
	// has, and those of the inventory.
	Versions, Wanted map[string]string
	Failures         []Failure
}

// File is the output of a command.
type File struct {
	Text string
	// Received is when the output arrived, by the controller's clock.
	Received time.Time
}

// Failure is a task of the collection that failed.
type Failure struct{ Task, Message string }

// hostRules are the rules for one host.
var hostRules = []func(Host) []Finding{
	disks, memory, clock, clockJumps, failedUnits, unitRestarts, containerRestarts, kernelMessages, etcdLog,
	bgpSessions, connectionTracking, versions, blockedProcesses, pendingHandlers, reboot, failures,
}

// Examine returns the findings of one host.
func Examine(h Host) []Finding {
	if h.Unreachable != "" {
		return []Finding{{Severity: Critical, Title: "host could not be examined", Host: h.Name, Evidence: h.Unreachable,
			Advice: "check power, network and SSH of the host", Guide: "reaching-hosts.md#errors"}}
	}
	var out []Finding
	for _, rule := range hostRules {
		for _, f := range rule(h) {
			f.Host = h.Name
			out = append(out, f)
		}
	}
	return out
}

// lines returns the lines of a file without their ends; none for a missing file.
func (h Host) lines(file string) []string {
	text := strings.TrimSpace(h.Files[file].Text)
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// matching returns the lines of a file that contain one of some texts.
func (h Host) matching(file string, texts ...string) []string {
	var out []string
	for _, line := range h.lines(file) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			out = append(out, line)
		}
	}
	return out
}

// failures returns a finding for the tasks that failed, as their files lack in the archive.
func failures(h Host) []Finding {
	var out []Finding
	for _, f := range h.Failures {
		out = append(out, Finding{Severity: Info, Title: "a part of the examination failed", Evidence: f.Task + ": " + f.Message})
	}
	return out
}
