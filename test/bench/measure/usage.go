package measure

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"deployer/test/lab/lab"
)

// UserHZ is the unit of /proc/stat: 1/100 s on every Linux architecture that Go
// runs on (proc(5), sysconf(_SC_CLK_TCK)).
const UserHZ = 100

// busyTime returns the time for which all processors together have been busy since
// the machine booted. A run that keeps them all busy is bound by the machine, not by
// waits.
func busyTime() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	return parseBusy(first)
}

// parseBusy adds up the first line of /proc/stat: user nice system idle iowait
// irq softirq steal; guest time after that is counted in user already.
func parseBusy(line string) time.Duration {
	fields := strings.Fields(line)
	var ticks int64
	for i, field := range fields {
		if i == 0 || i == 4 || i == 5 || i > 8 { // the word cpu, idle, iowait, guests
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / UserHZ
}

// hostsBusy returns the processor time that the hosts of a lab have used. Each host
// reads its own cgroup: cpu.stat in version 2 of the interface (microseconds), else
// cpuacct.usage (nanoseconds).
func hostsBusy(ctx context.Context, l *lab.Lab) (time.Duration, error) {
	var sum time.Duration
	for _, h := range l.Hosts {
		// A login over SSH would cost the host a tenth of a second.
		out, err := l.Exec(ctx, h.Name, "sh", "-c", "cat /sys/fs/cgroup/cpu.stat 2>/dev/null || cat /sys/fs/cgroup/cpuacct/cpuacct.usage")
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of %s: %w", h.Name, err)
		}
		used, err := parseUsage(out)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of %s: %w", h.Name, err)
		}
		sum += used
	}
	return sum, nil
}

func parseUsage(text string) (time.Duration, error) {
	unit, number := time.Nanosecond, strings.TrimSpace(text)
	for line := range strings.Lines(text) {
		if usec, ok := strings.CutPrefix(line, "usage_usec "); ok {
			unit, number = time.Microsecond, strings.TrimSpace(usec)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return time.Duration(n) * unit, err
}

// Usage is the processor time between two calls of Look.
type Usage struct {
	Machine time.Duration // of everything on the machine
	Own     time.Duration // of the lab's hosts and the program that is measured
}

// noisy is the share of other work in the machine's busy time above which a
// measurement is not reliable.
const noisy = 0.1

// String returns the benchmark's own time, with a warning when the machine did other
// work.
func (u Usage) String() string {
	text := fmt.Sprintf("processor time %.1f s", u.Own.Seconds())
	if other := u.Machine - u.Own; other.Seconds() > noisy*u.Machine.Seconds() {
		text += fmt.Sprintf(", and %.1f s of other work on the machine: measure again when it is idle", other.Seconds())
	}
	return text
}

// Look returns the processor times of a lab's hosts and of the machine since their
// boot. The difference of two results, see Since, lacks the time of the measured
// program in Own, which the caller adds.
func Look(ctx context.Context, l *lab.Lab) (Usage, error) {
	own, err := hostsBusy(ctx, l)
	return Usage{Machine: busyTime(), Own: own}, err
}

// Since returns the usage between two calls of Look.
func (u Usage) Since(before Usage) Usage {
	return Usage{Machine: u.Machine - before.Machine, Own: u.Own - before.Own}
}
