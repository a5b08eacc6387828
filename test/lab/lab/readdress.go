package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"

	"deployer/test/lab/plan"
)

// Readdress shuts a host down cleanly and boots it with another address of the lab's
// network. The address also holds for later boots, and is in the files of the lab from then
// on. The lab's name server keeps the former address.
func (l *Lab) Readdress(ctx context.Context, host, address string) error {
	to, err := netip.ParseAddr(address)
	if err != nil {
		return fmt.Errorf("readdressing host %s: %w", host, err)
	}
	i := slices.IndexFunc(l.Hosts, func(h plan.Host) bool { return h.Name == host })
	if i < 0 {
		_, err := l.Host(host)
		return err
	}
	taken := slices.ContainsFunc(l.Hosts, func(h plan.Host) bool { return h.Name != host && h.Address == to })
	if taken || !plan.Subnet().Contains(to) || to == plan.Controller() {
		return fmt.Errorf("readdressing host %s: %s is no free address of %s", host, address, plan.Subnet())
	}
	if err := l.shutDown(ctx, host); err != nil {
		return fmt.Errorf("readdressing host %s: %w", host, err)
	}
	l.Hosts[i].Address = to
	s, err := l.place.load(l.Name)
	if err != nil {
		return err
	}
	s.Hosts = l.Hosts
	if err := l.place.save(s); err != nil {
		return err
	}
	h := l.Hosts[i]
	if err := l.power(ctx, h, func() error { return l.engine.Start(ctx, l.box(host)) }); err != nil {
		return err
	}
	lines, err := l.hostKeys(ctx, h)
	if err != nil {
		return err
	}
	known, err := os.ReadFile(l.Files.KnownHosts())
	if err != nil {
		return fmt.Errorf("readdressing host %s: %w", host, err)
	}
	if err := l.writeFiles(append(known, lines...)); err != nil {
		return err
	}
	return l.answers(ctx, h)
}
