//go:build lab

package lifecycle

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// processes returns the processes of some hosts with their start times, by host.
func (s *site) processes(hosts ...string) map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for _, h := range hosts {
		out[h] = s.Processes(h)
	}
	return out
}

// requireProcesses checks that the hosts of before have the same processes as then, without
// those of some programs. when is the event between.
func (s *site) requireProcesses(before map[string]string, when string, without ...string) {
	s.T.Helper()
	for host, was := range before {
		if diff := cmp.Diff(processesWithout(was, without), processesWithout(s.Processes(host), without)); diff != "" {
			s.T.Errorf("%s: processes changed %s (-before +after):\n%s", host, when, diff)
		}
	}
}

// processesWithout removes the lines of some programs from a list of processes.
func processesWithout(list string, programs []string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(list, "\n"), func(line string) bool {
		program, _, _ := strings.Cut(line, " ")
		return slices.Contains(programs, program)
	}), "\n")
}
