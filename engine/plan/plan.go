// Package plan has the rules of plans: what a dry run found on each host, in a
// form that can be kept, shown on one screen, and compared with what a later dry
// run finds.
//
// # What a plan can know
//
// A dry run looks at hosts as they are now. What a file's change does to a later
// step can be foreseen; what a command, a package or a started unit brings
// cannot. So a step is one of
//
//   - exact: nothing before it on its host changes what it looks at. Applied, it
//     does what the plan shows, or less, or it fails.
//   - loose: something before it does. It may only touch what the plan shows,
//     but in another way.
//   - unknown: it looks at the result of something that did not run. The plan
//     says so, and it may do anything.
//
// And once a host has come to a step that is opaque (a command, a package, a unit
// that starts, an unknown one), those after it for which the plan has nothing may
// find something to do.
package plan

import (
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
)

// Format is the version of the form of plans; another one is refused.
const Format = 1

// Plan is what a run would do. It holds no secrets.
type Plan struct {
	Format     int                `json:"format"`
	Deployer   string             `json:"deployer"` // version of the program
	Made       time.Time          `json:"made"`
	By         string             `json:"by"` // user@machine
	Invocation journal.Invocation `json:"call"`
	// Files are what the plan was made from: inventory, playbook, roles,
	// templates, files; each with the hex SHA-256 of its content.
	Files map[string]string `json:"files"`
	// Changes are the distinct changes, in the order in which they were first
	// found.
	Changes []Change `json:"changes"`
	// Hosts are all hosts of the plan, in inventory order.
	Hosts []Host `json:"hosts"`
	// LeftOut are hosts that the dry run could not bring to the end, with the
	// reason; they are not in Hosts.
	LeftOut map[string]string `json:"left_out,omitempty"`
}

// Change is what a step would do, on every host that has it.
type Change struct {
	Step    string          `json:"step"`
	Name    string          `json:"name"`
	Role    string          `json:"role,omitempty"`
	Effects []engine.Effect `json:"effects,omitempty"`
	// Fingerprints are those of the effects.
	Fingerprints []string `json:"fingerprints,omitempty"`
	// Unknown says why it cannot be known what the step would do.
	Unknown string `json:"unknown,omitempty"`
	// MaxParallel is how many hosts at most do it at one time; 0 for no limit.
	MaxParallel int `json:"at_once,omitempty"`
}

// Host is what would happen on one host.
type Host struct {
	Name string `json:"name"`
	// Changes are indexes into Plan.Changes, in order.
	Changes []int `json:"changes"`
	// Inexact are those of Changes that may be done in another way, with the
	// number of the change on this host that is the reason.
	Inexact map[int]int `json:"loose,omitempty"`
	// UnboundedFrom is the first change after which steps that the plan does not have
	// may find something to do; nil when there is none.
	UnboundedFrom *int `json:"opaque,omitempty"`
}

// Valid tells whether the parts of a plan that was read fit together.
func (p *Plan) Valid() error {
	for _, c := range p.Changes {
		if len(c.Fingerprints) != len(c.Effects) {
			return fmt.Errorf("step %s has %d effects and %d fingerprints", c.Step, len(c.Effects), len(c.Fingerprints))
		}
		for i, e := range c.Effects {
			if e.Fingerprint() != c.Fingerprints[i] {
				return fmt.Errorf("step %s: the fingerprint of effect %d is not its own", c.Step, i+1)
			}
		}
	}
	inside := func(at int) bool { return at >= 0 && at < len(p.Changes) }
	for _, h := range p.Hosts {
		ok := h.UnboundedFrom == nil || inside(*h.UnboundedFrom)
		for _, at := range h.Changes {
			ok = ok && inside(at)
		}
		if !ok {
			return fmt.Errorf("host %s has a change that is not there", h.Name)
		}
	}
	return nil
}

// Empty tells whether nothing would be done.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }
