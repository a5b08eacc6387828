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

// identity holds the facts of a host that only the controller can evaluate, by
// comparison with other hosts or its own clock.
type identity struct {
	host        string
	hostname    string
	machineID   string
	arch        string // as uname -m prints it
	os, like    string // ID and ID_LIKE of os-release
	version     string
	skew        time.Duration // the host's clock minus the controller's
	uncertainty time.Duration // uncertainty of skew: half the round trip
	err         error
}

// identityScript prints one fact in each line, the clock last, so that the time for the
// other facts does not count as network time. identityScript uses only POSIX sh, coreutils and
// the kernel.
const identityScript = `cat /proc/sys/kernel/hostname
cat /etc/machine-id 2>/dev/null || echo
uname -m
[ -r /etc/os-release ] && . /etc/os-release
echo "$ID"
echo "$VERSION_ID"
echo "$ID_LIKE"
date +%s.%N`

// identityLines is the number of lines that identityScript prints.
const identityLines = 7

// identify queries a host twice: the first query opens the connection, the second one
// returns the facts and is timed for the difference of the clocks. identify takes at most 30 s.
func identify(ctx context.Context, actx engine.ActionContext, host string) identity {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if _, err := runIdentityScript(ctx, actx, host); err != nil {
		return identity{host: host, err: err}
	}
	before := time.Now()
	out, err := runIdentityScript(ctx, actx, host)
	after := time.Now()
	if err != nil {
		return identity{host: host, err: err}
	}
	id := identity{
		host: host, hostname: out[0], machineID: out[1], arch: out[2], os: out[3], version: out[4], like: out[5],
		uncertainty: after.Sub(before) / 2,
	}
	clock, err := parseClock(out[6])
	if err != nil {
		return identity{host: host, err: err}
	}
	id.skew = clock.Sub(before.Add(id.uncertainty))
	return id
}

// runIdentityScript runs identityScript on a host and returns its lines.
func runIdentityScript(ctx context.Context, actx engine.ActionContext, host string) ([]string, error) {
	result, err := actx.RunOn(ctx, host, "shell", &command.Shell{Cmd: identityScript, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if result.Failure != nil {
		return nil, result.Failure
	}
	text, _ := result.Output["stdout"].(string)
	out := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(out) != identityLines {
		return nil, fmt.Errorf("reading the identity of the host: its script printed %d lines instead of %d", len(out), identityLines)
	}
	return out, nil
}

// parseClock parses seconds.nanoseconds. Without nanoseconds, as with the date of
// busybox, it assumes the middle of the second.
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
