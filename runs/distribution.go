package runs

import (
	"cmp"
	"net/netip"
	"strings"

	"deployer/engine"
	"deployer/engine/spread"
	"deployer/engine/spread/tracker"
	"deployer/inventory"
	"deployer/runs/target"
)

// startTracker has hosts of the run send large blobs to each other, when there are enough of
// them. A check sends no blobs.
func (s *execution) startTracker(agents *target.AgentServices) error {
	inv := s.Project.Inventory
	if s.Check || !inv.Distribution.Enabled(len(s.TargetHosts())) {
		return nil
	}
	var err error
	s.tracker, err = tracker.New(tracker.Options{
		Hosts: peerHosts(inv, s.TargetHosts()), Blobs: s.blobs, Emit: agents.Sink.Emit,
		Port: inv.Distribution.Port, BytesPerSecond: inv.Distribution.BytesPerSecond,
	})
	if err == nil {
		agents.Peers = s.tracker
	}
	return err
}

// peerHosts returns the hosts with an IP address at which others reach them.
func peerHosts(inv *inventory.Inventory, names []string) []tracker.Host {
	var out []tracker.Host
	for _, name := range names {
		h, _ := inv.Host(name)
		first, _, _ := strings.Cut(cmp.Or(h.NodeAddress, h.Address), ",")
		if address, err := netip.ParseAddr(strings.TrimSpace(first)); err == nil {
			out = append(out, tracker.Host{Host: spread.Host{Name: name, Rack: rackOf(h, address)}, Address: address.String()})
		}
	}
	return out
}

// rackLabels are the labels whose value is the rack of a host, the first one that it has.
var rackLabels = []string{"topology.kubernetes.io/rack", "topology.kubernetes.io/zone"}

// Prefix lengths of networks that count as a rack, for hosts without a label.
const (
	rackPrefix4 = 24
	rackPrefix6 = 64
)

// rackOf returns the rack of a host: the value of a label, or its network.
func rackOf(h inventory.Host, address netip.Addr) string {
	for _, label := range rackLabels {
		if value := h.Labels[label]; value != "" {
			return value
		}
	}
	bits := rackPrefix6
	if address.Unmap().Is4() {
		bits = rackPrefix4
	}
	return netip.PrefixFrom(address.Unmap(), bits).Masked().String()
}

// sink returns the sink of the scheduler's events.
func (s *execution) sink() engine.Sink {
	if s.tracker == nil {
		return s.events
	}
	return distributionSink{s.events, s.tracker}
}

// distributionSink emits the sum of the distribution before the end of the run.
type distributionSink struct {
	engine.Sink
	tracker *tracker.Tracker
}

// Emit implements engine.Sink.
func (d distributionSink) Emit(e engine.Event) {
	if e.Type == engine.EventRunEnd {
		d.tracker.Close()
	}
	d.Sink.Emit(e)
}
