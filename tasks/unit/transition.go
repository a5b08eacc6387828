package unit

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/poll"
)

const (
	defaultTimeout = 90 * time.Second // systemd's own DefaultTimeoutStartSec
	pollEvery      = 100 * time.Millisecond
	beginWithin    = 10 * time.Second // for no_block: until the job is taken up
)

// transition runs the verb, waits for its effect, and returns the status after it.
func (u *Unit) transition(ctx context.Context, sys engine.System, before status, transition action) (status, error) {
	if transition.verb == "reload" && !before.CanReload {
		return before, fmt.Errorf("unit %s has no ExecReload: use state: restarted, or restart_if_older_than", u.Name)
	}
	argv := []string{"systemctl", transition.verb, u.Name}
	if u.NoBlock && transition.verb != "stop" && transition.verb != "reload" {
		argv = []string{"systemctl", "--no-block", transition.verb, u.Name}
	}
	if transition.verb != "stop" && (before.Active == "failed" || before.Active == "activating") {
		// systemd refuses a sixth start within 10 s, its own attempts counted (systemd.unit(5),
		// StartLimitBurst=). The start below reports what is wrong, so an error here is no news.
		_, _ = hostcmd.Run(ctx, sys, "systemctl", "reset-failed", u.Name)
	}
	_, failed := hostcmd.Run(ctx, sys, argv...)
	if failed != nil && transition.verb == "start" && before.Active == "activating" && ctx.Err() == nil {
		// systemd joins a start with its own attempt in progress, which may have read files
		// from before this run.
		_, failed = hostcmd.Run(ctx, sys, "systemctl", "restart", u.Name)
	}
	if ctx.Err() != nil {
		return before, context.Cause(ctx)
	}
	switch transition.verb {
	case "stop":
		if failed != nil {
			return before, u.failure(ctx, sys, "did not stop: "+failed.Error())
		}
		return show(ctx, sys, u.Name)
	case "reload":
		if failed != nil {
			return before, u.failure(ctx, sys, "did not reload: "+failed.Error())
		}
		return show(ctx, sys, u.Name)
	}
	if failed != nil {
		// systemd may try again by itself; only when it does not, this is the end
		if now, err := show(ctx, sys, u.Name); err != nil || now.Active != "activating" && !now.up() {
			return before, u.failure(ctx, sys, "did not start: "+failed.Error())
		}
	}
	if u.NoBlock {
		return u.awaitBegin(ctx, sys, before)
	}
	return u.awaitUp(ctx, sys, before)
}

func (u *Unit) failure(ctx context.Context, sys engine.System, what string) error {
	return &engine.Failure{Message: "unit " + u.Name + " " + what, Detail: journal(ctx, sys, u.Name)}
}

// awaitBegin waits until a new invocation begins.
func (u *Unit) awaitBegin(ctx context.Context, sys engine.System, before status) (status, error) {
	deadline := time.Now().Add(beginWithin)
	for {
		now, err := show(ctx, sys, u.Name)
		if err != nil {
			return now, err
		}
		if now.Active == "failed" {
			return now, u.failure(ctx, sys, "failed ("+now.Result+")")
		}
		if now.Invocation != before.Invocation && (now.up() || now.Active == "activating") {
			return now, nil
		}
		if time.Now().After(deadline) {
			return now, u.failure(ctx, sys, fmt.Sprintf("has not begun to start after %s: it is %s", beginWithin, now.Active))
		}
		if err := poll.Sleep(ctx, pollEvery); err != nil {
			return now, err
		}
	}
}

// awaitUp waits until one process has been up for the stable time.
func (u *Unit) awaitUp(ctx context.Context, sys engine.System, before status) (status, error) {
	timeout := cmp.Or(u.Timeout, defaultTimeout)
	deadline := time.Now().Add(timeout)
	w := watch{before: before, stable: u.StableFor}
	for {
		now, err := show(ctx, sys, u.Name)
		if err != nil {
			return now, err
		}
		done, wrong := w.observe(now, time.Now())
		if wrong != "" {
			return now, u.failure(ctx, sys, wrong)
		}
		if done {
			return now, nil
		}
		if time.Now().After(deadline) {
			return now, u.failure(ctx, sys, fmt.Sprintf("is not up after %s: it is %s (%s)", timeout, now.Active, now.Sub))
		}
		if err := poll.Sleep(ctx, pollEvery); err != nil {
			return now, err
		}
	}
}
