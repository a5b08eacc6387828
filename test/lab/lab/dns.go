package lab

import (
	"context"
	"errors"
	"fmt"

	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// nameServer starts the lab's DNS server at the controller's address, to which the
// hosts' resolv.conf refers.
func (l *Lab) nameServer(ctx context.Context, image string) error {
	ns := netns.Path(plan.LabNamespace(l.Name))
	if err := l.engine.Inside(ctx, l.Name, plan.NameServer, image, ns, plan.DNS(l.Hosts)...); err != nil {
		return fmt.Errorf("starting the lab's name server: %w", err)
	}
	return nil
}

// resolves waits until a host resolves its own DNS name.
func (l *Lab) resolves(ctx context.Context, h plan.Host) error {
	name := h.Name + "." + plan.Domain
	ctx, cancel := context.WithTimeoutCause(ctx, l.boot, fmt.Errorf("host %s did not resolve %s within %s", h.Name, name, l.boot))
	defer cancel()
	for {
		_, err := l.SSH(ctx, h.Name, "getent hosts "+name)
		if err == nil {
			return nil
		}
		if up, look := l.engine.Running(ctx, l.box(plan.NameServer)); look == nil && !up {
			said, _ := l.engine.Logs(context.WithoutCancel(ctx), l.box(plan.NameServer))
			return fmt.Errorf("the lab's name server stopped: %s", said)
		}
		if wait(ctx) != nil {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
