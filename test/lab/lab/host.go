package lab

import (
	"context"
	"errors"
	"fmt"

	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Kill stops a host like a power cut: every process dies at once and its link is
// removed. Its files keep what was written, even unsynced. A host that is down is no
// error.
func (l *Lab) Kill(ctx context.Context, host string) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	if err := l.engine.Kill(ctx, l.box(host)); err != nil {
		return fmt.Errorf("killing host %s: %w", host, err)
	}
	return netns.DeleteHost(ctx, l.Name, host)
}

// Start boots a stopped host and returns when it answers over SSH. It keeps its address
// and files; a partition is healed. A running host is left alone.
func (l *Lab) Start(ctx context.Context, host string) error {
	h, err := l.Host(host)
	if err != nil {
		return err
	}
	up, err := l.engine.Running(ctx, l.box(host))
	if err != nil || up {
		return err
	}
	if !netns.Exists(plan.LabNamespace(l.Name)) {
		return fmt.Errorf("the network of lab %s does not exist, as after a reboot of the machine; run `down --name %s` and create the lab again", l.Name, l.Name)
	}
	err = l.power(ctx, h, func() error { return l.engine.Start(ctx, l.box(host)) })
	if err != nil {
		return err
	}
	return l.answers(ctx, h)
}

// Reboot shuts a host down cleanly and boots it again.
func (l *Lab) Reboot(ctx context.Context, host string) error {
	if err := l.Shutdown(ctx, host); err != nil {
		return err
	}
	return l.Start(ctx, host)
}

// Shutdown shuts a host down cleanly, by a reboot of its own, and returns when it is down. A host that
// is down is no error.
func (l *Lab) Shutdown(ctx context.Context, host string) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	if err := l.shutDown(ctx, host); err != nil {
		return fmt.Errorf("rebooting host %s: %w", host, err)
	}
	return nil
}

func (l *Lab) shutDown(ctx context.Context, host string) error {
	up, err := l.engine.Running(ctx, l.box(host))
	if err != nil || !up {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.boot, fmt.Errorf("it did not shut down within %s", l.boot))
	defer cancel()
	// The command may die with the host, so only the end of the host counts.
	_, asked := l.engine.Exec(ctx, l.box(host), "systemctl", "reboot")
	if err := l.engine.Wait(ctx, l.box(host)); err != nil {
		return errors.Join(err, asked)
	}
	return nil
}

// Partition cuts a host off from all others and from the controller. It keeps
// running, with its addresses and routes.
func (l *Lab) Partition(ctx context.Context, host string) error { return l.port(ctx, host, false) }

// Heal ends a partition.
func (l *Lab) Heal(ctx context.Context, host string) error { return l.port(ctx, host, true) }

func (l *Lab) port(ctx context.Context, host string, up bool) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	if !netns.Exists(plan.HostResource(l.Name, host)) {
		return fmt.Errorf("host %s of lab %s is down and has no link; start it first", host, l.Name)
	}
	return netns.SetPort(ctx, l.Name, host, up)
}
