package lab

import (
	"context"

	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Condition is the condition of a host.
type Condition string

// The conditions of a host.
const (
	HostUp   Condition = "up"
	HostDown Condition = "down"
	HostCut  Condition = "partitioned"
)

// Status is the current state of a lab.
type Status struct {
	Name     string
	Complete bool // false: the lab is incomplete, and its hosts are unknown
	Hosts    []HostStatus
}

// HostStatus is the current state of a host.
type HostStatus struct {
	plan.Host
	Condition Condition
}

// List returns every lab with any part on the machine.
func List(ctx context.Context) ([]Status, error) {
	l, err := prepare(ctx, "", Options{})
	if err != nil {
		return nil, err
	}
	labs, err := names(ctx, l.engine, l.place)
	if err != nil {
		return nil, err
	}
	boxes, err := l.engine.Containers(ctx)
	if err != nil {
		return nil, err
	}
	running := map[string]bool{}
	for _, b := range boxes {
		running[b.Name] = b.Running
	}
	var all []Status
	for _, name := range labs {
		s, err := l.place.load(name)
		if err != nil || !s.Complete {
			all = append(all, Status{Name: name})
			continue
		}
		ports, err := netns.PortsUp(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, Status{Name: name, Complete: true, Hosts: conditions(s, running, ports)})
	}
	return all, nil
}

func conditions(s state, running, ports map[string]bool) []HostStatus {
	var hosts []HostStatus
	for _, h := range s.Hosts {
		c := HostUp
		switch {
		case !running[plan.HostResource(s.Name, h.Name)]:
			c = HostDown
		case !ports[h.Name]:
			c = HostCut
		}
		hosts = append(hosts, HostStatus{Host: h, Condition: c})
	}
	return hosts
}
