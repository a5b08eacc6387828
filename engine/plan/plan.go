// Package plan has the rules of plans. A plan is the result of a dry run on each
// host, in a form that can be stored, shown on one screen, and compared with a later
// dry run. The package contacts no host.
//
// # What a plan can know
//
// A dry run sees hosts in their present state. The effect of a file's change on
// later steps can be predicted; the effect of a command, a package or a started unit
// cannot. So a step is
//
//   - exact when no earlier change on its host affects what it checks. Applied, it does
//     what the plan shows, or less, or fails.
//   - inexact when an earlier change does. The step may only touch what the plan shows, but with
//     another content.
//   - unknown when it uses the result of a step that a dry run does not execute. The plan
//     marks it as unknown, and the step may do anything.
//
// After an unbounded step (a command, a package, a unit that starts, an unknown
// step), later steps that the plan does not list may find something to change.
package plan

import (
	"fmt"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
)

// Format is the number of the format of plans; plans of another format are refused.
const Format = 1

// Plan has the changes that a run would make. Plan contains no secrets.
type Plan struct {
	Format     int                `json:"format"`
	Deployer   string             `json:"deployer"` // version of the program
	Made       time.Time          `json:"made"`
	By         string             `json:"by"` // user@machine
	Invocation journal.Invocation `json:"call"`
	// Files are the inputs of the plan (inventory, playbook, roles, templates, files),
	// each with the hex SHA-256 of its content.
	Files map[string]string `json:"files"`
	// Changes are the distinct changes, in the order in which they were first found.
	Changes []Change `json:"changes"`
	// Hosts are all hosts of the plan, in inventory order.
	Hosts []Host `json:"hosts"`
	// LeftOut are the hosts on which the dry run failed, with the reason; they are not
	// in Hosts.
	LeftOut map[string]string `json:"left_out,omitempty"`
}

// Change has the effects of a step on each host that has the change.
type Change struct {
	Step    string          `json:"step"`
	Name    string          `json:"name"`
	Role    string          `json:"role,omitempty"`
	Effects []engine.Effect `json:"effects,omitempty"`
	// Fingerprints are the fingerprints of Effects, in the same order.
	Fingerprints []string `json:"fingerprints,omitempty"`
	// Unknown is the reason why the effects of the step cannot be known; else empty.
	Unknown string `json:"unknown,omitempty"`
	// MaxParallel is the maximum number of hosts that do the step at a time; 0 for
	// no limit.
	MaxParallel int `json:"at_once,omitempty"`
}

// Host has the changes of one host.
type Host struct {
	Name string `json:"name"`
	// Changes are indexes into Plan.Changes, in order.
	Changes []int `json:"changes"`
	// Inexact are the members of Changes that may have another content when applied,
	// each with the earlier change on this host that is the reason.
	Inexact map[int]int `json:"loose,omitempty"`
	// UnboundedFrom is the first change after which steps that the plan does not
	// list may find something to change; nil when there is none.
	UnboundedFrom *int `json:"opaque,omitempty"`
}

// Valid returns an error when the parts of a decoded plan do not fit together.
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

// Empty reports whether the plan has no changes.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }
