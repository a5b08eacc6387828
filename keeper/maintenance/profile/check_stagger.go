package profile

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// stagger passes if no other node has passed for some time. Each node that makes a transition takes a Lease.
type stagger struct {
	Duration       Duration `yaml:"duration" required:"true" doc:"Time that must pass between two nodes."`
	LeaseName      string   `yaml:"leaseName" required:"true" doc:"Name of the Leases, which -0, -1 and so on follow."`
	LeaseNamespace string   `yaml:"leaseNamespace" required:"true" doc:"Namespace of the Leases."`
	Parallel       int      `yaml:"parallel" range:"1.." doc:"Number of nodes that may pass in this time. Default 1."`
}

// validate implements validator.
func (c *stagger) validate() error {
	if time.Duration(c.Duration) < time.Second {
		return errors.New("duration must be at least 1s: Leases count whole seconds")
	}
	return nil
}

func (c *stagger) evaluate(s *subject) (Result, error) {
	var held []string
	var free *Take
	for i := range c.Parallel {
		key := LeaseKey{c.LeaseNamespace, fmt.Sprintf("%s-%d", c.LeaseName, i)}
		lease, ok, err := s.world.Facts.Lease(key)
		if err != nil {
			return Result{}, err
		}
		switch left := lease.Duration - s.world.Now.Sub(lease.Renewed); {
		case !ok || lease.Free(s.world.Now):
			if free == nil {
				free = &Take{key, time.Duration(c.Duration)}
			}
		case lease.Holder == s.node.Name && s.world.Busy[s.node.Name] == s.profile:
			return Result{Passed: true, Reason: "the node has passed, and its triggers are in progress"}, nil
		default:
			held = append(held, fmt.Sprintf("node %s passed last, %s left", lease.Holder, left.Round(time.Second)))
		}
	}
	if free != nil {
		return Result{Passed: true, Reason: "lease " + free.Key.String() + " is free", Take: free}, nil
	}
	return passedIf(false, "%s", strings.Join(held, "; "))
}
