package preflight

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/command"
)

// identity is what of a host only the controller can judge, since it needs
// other hosts or another clock to compare with.
type identity struct {
	host      string
	hostname  string
	machineID string
	arch      string // as uname -m prints it
	os, like  string // ID and ID_LIKE of os-release
	version   string
	skew      time.Duration // the host's clock minus this one's
	blur      time.Duration // by how much skew may be wrong: half the round trip
	err       error
}

// ask prints one fact a line, the clock last: what comes before it must not
// count as network time. Only what POSIX sh, coreutils and the kernel have.
const ask = `cat /proc/sys/kernel/hostname
cat /etc/machine-id 2>/dev/null || echo
uname -m
[ -r /etc/os-release ] && . /etc/os-release
echo "$ID"
echo "$VERSION_ID"
echo "$ID_LIKE"
date +%s.%N`

const lines = 7

// identify asks a host twice: the first answer brings the facts and starts up
// whatever is slow, the second one is timed.
func identify(ctx context.Context, site engine.ActionContext, host string) identity {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := answer(ctx, site, host); err != nil {
		return identity{host: host, err: err}
	}
	before := time.Now()
	out, err := answer(ctx, site, host)
	after := time.Now()
	if err != nil {
		return identity{host: host, err: err}
	}
	id := identity{
		host: host, hostname: out[0], machineID: out[1], arch: out[2], os: out[3], version: out[4], like: out[5],
		blur: after.Sub(before) / 2,
	}
	clock, err := parseClock(out[6])
	if err != nil {
		return identity{host: host, err: err}
	}
	id.skew = clock.Sub(before.Add(id.blur))
	return id
}

func answer(ctx context.Context, site engine.ActionContext, host string) ([]string, error) {
	result, err := site.RunOn(ctx, host, "shell", &command.Shell{Cmd: ask, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if result.Failure != nil {
		return nil, result.Failure
	}
	text, _ := result.Output["stdout"].(string)
	out := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(out) != lines {
		return nil, fmt.Errorf("the host answered %d lines instead of %d", len(out), lines)
	}
	return out, nil
}

// parseClock reads seconds.nanoseconds. Where date knows no nanoseconds, as in
// busybox, whole seconds have to do.
func parseClock(text string) (time.Time, error) {
	whole, part, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, errors.New("the host's clock cannot be read: date printed " + strconv.Quote(text))
	}
	nanos, err := strconv.ParseInt(part, 10, 64)
	if err != nil {
		nanos = int64(time.Second / 2)
	}
	return time.Unix(seconds, nanos), nil
}
