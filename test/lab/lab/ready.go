package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// poll is the interval of repeated queries.
const poll = 100 * time.Millisecond

// power starts a host: it creates a clean network namespace, starts the container, and
// waits until systemd reports the end of the boot without a failed unit.
func (l *Lab) power(ctx context.Context, h plan.Host, start func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.boot, fmt.Errorf("host %s did not boot within %s", h.Name, l.boot))
	defer cancel()
	if err := l.cable(ctx, h, start); err != nil {
		return fmt.Errorf("starting host %s: %w", h.Name, err)
	}
	return l.booted(ctx, h)
}

// cable starts the container and connects it. Podman joins a namespace that is complete
// before the first program runs; Docker creates its own at each start.
func (l *Lab) cable(ctx context.Context, h plan.Host, start func() error) error {
	if l.engine.JoinsNamespace() {
		if err := netns.AddHost(ctx, l.Name, h.Name); err != nil {
			return err
		}
		if err := netns.Plug(ctx, l.Name, h); err != nil {
			return err
		}
		return start()
	}
	if err := start(); err != nil {
		return err
	}
	pid, err := l.engine.Process(ctx, l.box(h.Name))
	if err != nil {
		return err
	}
	if err := netns.AdoptHost(ctx, l.Name, h.Name, pid); err != nil {
		return err
	}
	return netns.Plug(ctx, l.Name, h)
}

// booted waits for systemd's result of the boot. The query fails until D-Bus runs and is
// repeated; after that systemd answers when the boot is over.
func (l *Lab) booted(ctx context.Context, h plan.Host) error {
	for {
		out, err := l.engine.Exec(ctx, l.box(h.Name), "systemctl", "is-system-running", "--wait")
		switch out {
		case "running":
			return nil
		case "degraded", "maintenance":
			failed, _ := l.engine.Exec(ctx, l.box(h.Name), "systemctl", "list-units", "--failed", "--plain", "--no-legend", "--no-pager")
			return fmt.Errorf("host %s booted %s: %s", h.Name, out, failed)
		}
		if up, look := l.engine.Running(ctx, l.box(h.Name)); look == nil && !up {
			said, _ := l.engine.Logs(context.WithoutCancel(ctx), l.box(h.Name))
			return fmt.Errorf("host %s stopped while booting: %s", h.Name, said)
		}
		if wait(ctx) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// answers waits until a command succeeds over SSH.
func (l *Lab) answers(ctx context.Context, h plan.Host) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.boot, fmt.Errorf("no SSH to host %s within %s", h.Name, l.boot))
	defer cancel()
	for {
		_, err := l.SSH(ctx, h.Name, "true")
		if err == nil {
			return nil
		}
		if wait(ctx) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// wait waits for one polling interval, or until the context ends.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(poll):
		return nil
	}
}
