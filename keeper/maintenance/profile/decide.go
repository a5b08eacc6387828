package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Decision is what a node does next. A decision with an error does nothing: the node keeps all its states.
type Decision struct {
	// Data are the states of the node, with those of profiles that it no longer has removed and those of new ones
	// added; without the transitions of this decision.
	Data Data
	// Profiles are the decisions of the node's profiles, in the order of its label.
	Profiles []Due
	// Unknown are the profiles that the label names and the file does not have. They keep their state.
	Unknown []string
	// Err is the reason why nothing happens; it has all errors of checks.
	Err error
}

// Due is what happens in one profile of a node: the parts of it in the order of the fields, where an error
// ends it.
type Due struct {
	Profile string
	State   State
	// Enter are the triggers to run because the node has just entered its state. While there are any, the profile
	// makes no transition.
	Enter []*Trigger
	// Notify are the notifications to send after that.
	Notify []*Notifier
	// Looks are the transitions out of the state, with the results of their checks.
	Looks []Look
	// Next is the state after the transition to make; the same as State for none.
	Next State
	// Take are the leases to take before the triggers run.
	Take []Take
	// Do are the triggers of the transition.
	Do []*Trigger
}

// Look is the evaluation of one transition.
type Look struct {
	Next    State
	When    string // the expression
	Passed  bool
	Results map[string]Result // by check instance
	// Blocked is the reason why a transition whose checks passed is not made; may be empty.
	Blocked string
}

// Decide returns what a node does next. data are the stored states of the node; Decide does not change them.
//
// All checks of all transitions of a profile's state are evaluated, then the first transition that passed is made. A
// node is in-maintenance for one profile at a time: the others keep their state until it has left.
func Decide(c *Config, node *corev1.Node, data Data, w *World) Decision {
	names := NamesOf(node.Labels)
	d := Decision{Data: data.Clone()}
	d.Data.follow(names, c.Has, w.Now)
	t := &taken{leases: map[LeaseKey]string{}, busy: w.Busy[node.Name]}
	for name, p := range d.Data.Profiles {
		if p.Current == InMaintenance {
			t.maintenance = name
		}
	}
	var errs []error
	for _, name := range names {
		if !c.Has(name) {
			d.Unknown = append(d.Unknown, name)
			continue
		}
		pd, err := decideProfile(c.profiles[name], node, *d.Data.Profiles[name], d.Data, w, t)
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", name, err))
		}
		t.add(&pd)
		d.Profiles = append(d.Profiles, pd)
	}
	if d.Err = errors.Join(errs...); d.Err != nil {
		for i := range d.Profiles {
			d.Profiles[i] = Due{Profile: d.Profiles[i].Profile, State: d.Profiles[i].State, Next: d.Profiles[i].State, Looks: d.Profiles[i].Looks}
		}
	}
	return d
}

func decideProfile(p *profile, node *corev1.Node, is Progress, data Data, w *World, others *taken) (Due, error) {
	rules := p.states[is.Current]
	d := Due{Profile: p.name, State: is.Current, Next: is.Current}
	for _, n := range rules.notify {
		if n.Schedule.due(is, data.Notifications[n.Name], w.Now) {
			d.Notify = append(d.Notify, n)
		}
	}
	if is.Current != is.Previous && len(rules.enter) > 0 {
		d.Enter = rules.enter
		return d, nil
	}
	s := &subject{node: node, profile: p.name, state: is.Current, since: is.Transition, world: w}
	var errs []error
	for _, t := range rules.transitions {
		look, err := t.look(s)
		if err != nil {
			errs = append(errs, err)
		}
		if look.Passed {
			look.Blocked = others.block(p.name, t.next, look.takes())
		}
		if look.Passed && look.Blocked == "" && d.Next == d.State {
			d.Next, d.Do, d.Take = t.next, t.do, look.takes()
		}
		d.Looks = append(d.Looks, look)
	}
	return d, errors.Join(errs...)
}

// taken is what the profiles of a node exclude for its other profiles.
type taken struct {
	maintenance string              // profile for which the node is in maintenance, or will be
	leases      map[LeaseKey]string // profiles that take leases
	busy        string              // profile whose transition has triggers in progress; empty for none
}

func (t *taken) add(d *Due) {
	if d.Next == InMaintenance {
		t.maintenance = d.Profile
	}
	for _, take := range d.Take {
		t.leases[take.Key] = d.Profile
	}
}

// block returns the reason why another profile of the node prevents a transition; empty for none.
func (t *taken) block(name string, next State, leases []Take) string {
	if t.busy != "" && t.busy != name {
		return "triggers of profile " + t.busy + " are in progress on the node"
	}
	if next == InMaintenance && t.maintenance != "" {
		return "the node is in maintenance for profile " + t.maintenance
	}
	for _, take := range leases {
		if by := t.leases[take.Key]; by != "" {
			return fmt.Sprintf("profile %s of the node takes lease %s", by, take.Key)
		}
	}
	return ""
}

// takes returns the leases that the checks of a transition want to be taken.
func (l *Look) takes() []Take {
	var out []Take
	for _, name := range slices.Sorted(maps.Keys(l.Results)) {
		if take := l.Results[name].Take; take != nil && !slices.Contains(out, *take) {
			out = append(out, *take)
		}
	}
	return out
}

// look evaluates a transition. Every check is evaluated, so that an error of one does not depend on the others.
func (t *transition) look(s *subject) (Look, error) {
	look := Look{Next: t.next, When: t.when.String(), Results: map[string]Result{}}
	var errs []error
	for _, name := range t.when.Names() {
		result, err := t.checks[name].of.evaluate(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("check %s: %w", name, err))
			result = Result{Reason: "error: " + err.Error()}
		}
		look.Results[name] = result
	}
	if err := errors.Join(errs...); err != nil {
		return look, err
	}
	look.Passed = t.when.Eval(func(name string) bool { return look.Results[name].Passed })
	return look, nil
}

// Message returns what templates see for a profile of a node.
func (d *Decision) Message(node *corev1.Node, profile string) Message {
	m := Message{Node: node, Profile: Names{Current: profile, Last: d.Data.last()}}
	for _, p := range d.Data.Profiles {
		m.InMaintenance = m.InMaintenance || p.Current == InMaintenance
	}
	if p := d.Data.Profiles[profile]; p != nil {
		m.State, m.LastTransition = p.Current, p.Transition
	}
	return m
}

// Why explains a transition that did not pass, as "ready: condition Ready is False; count: ...".
func (l *Look) Why() string {
	if l.Blocked != "" {
		return l.Blocked
	}
	var parts []string
	e, err := ParseExpression(l.When)
	if err != nil {
		return ""
	}
	for _, name := range e.Names() {
		if reason := l.Results[name].Reason; reason != "" {
			parts = append(parts, name+": "+reason)
		}
	}
	return strings.Join(parts, "; ")
}
