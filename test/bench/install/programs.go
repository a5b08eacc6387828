package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"deployer/test/bench/measure"
	"deployer/test/lab/lab"
)

// mostPrograms is the maximum number of printed programs.
const mostPrograms = 10

// programsBusy returns the processor time of the programs of the lab's hosts since
// the hosts booted. It includes that of ended children: the time of ctr counts for
// its parent.
func programsBusy(ctx context.Context, l *lab.Lab) ([]string, error) {
	used := map[string]time.Duration{}
	for _, h := range l.Hosts {
		out, err := l.SSH(ctx, h.Name, "cat /proc/[0-9]*/stat 2>/dev/null; true")
		if err != nil {
			return nil, fmt.Errorf("reading the processes of %s: %w", h.Name, err)
		}
		for line := range strings.Lines(out) {
			if name, took, ok := parseProcess(line); ok {
				used[name] += took
			}
		}
	}
	var rows []total
	for name, took := range used {
		rows = append(rows, total{what: name, took: took})
	}
	slices.SortFunc(rows, func(a, b total) int { return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.what, b.what)) })
	lines := []string{"processor time on the hosts since boot, by program, with its children that ended"}
	return append(lines, table(rows[:min(mostPrograms, len(rows))])...), nil
}

// parseProcess reads a line of /proc/PID/stat (proc(5)): the name in
// parentheses, and utime, stime, cutime and cstime, the fields 14 to 17.
func parseProcess(line string) (name string, took time.Duration, ok bool) {
	begin, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if begin < 0 || end < begin {
		return "", 0, false
	}
	const third = 3 // number of the first field after the name
	fields := strings.Fields(line[end+1:])
	if len(fields) <= 17-third {
		return "", 0, false
	}
	var ticks int64
	for _, field := range fields[14-third : 18-third] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return "", 0, false
		}
		ticks += n
	}
	return line[begin+1 : end], time.Duration(ticks) * time.Second / measure.UserHZ, true
}
