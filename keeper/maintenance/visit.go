package maintenance

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/nodes"
	"deployer/keeper/maintenance/profile"
)

// maxUnsent is the number of nodes for which a notification may fail in one pass; a server that is down must not take
// its timeout for each node.
const maxUnsent = 3

// visit is the look at one node in a pass.
type visit struct {
	*pass
	index int          // of the node in the world
	node  *corev1.Node // with the edits so far
	// stored is the node as the API has it.
	stored *corev1.Node

	profile  string // the profile that is worked on
	finished bool   // all triggers of the last transition have ended
	edits    []profile.Edit
	data     profile.Data // to store
	events   []Event      // to record when they are stored
}

// run does what is due for the node. On an error, what was done before it is stored, and the profile in which it
// happened and those after it keep their states.
func (v *visit) run(ctx context.Context) error {
	data, err := profile.ParseData(v.node.Annotations[profile.DataAnnotation])
	if err != nil {
		return err
	}
	d := profile.Decide(v.c.Config, v.node, data, v.world)
	if v.c.Observe != nil {
		v.c.Observe(v.node, d)
	}
	for _, name := range d.Unknown {
		v.c.record(Event{Kind: Ignored, Node: v.node, Profile: name, Text: "the file has no such profile; its state stays"})
	}
	if d.Err != nil {
		return d.Err
	}
	v.data = d.Data.Clone()
	v.rest(&d)
	failure := v.profiles(ctx, &d)
	if err := v.store(ctx); err != nil {
		// The API may have stored the states all the same. A node that was to change its state stays busy, and counts.
		if failure != nil {
			return fmt.Errorf("%w; and then: %w", failure, err)
		}
		return err
	}
	return failure
}

// rest ends the wait for triggers of a transition whose checks do not pass any more.
func (v *visit) rest(d *profile.Decision) {
	b, ok := v.c.busy[v.node.Name]
	if !ok {
		return
	}
	for _, p := range d.Profiles {
		if p.Profile == b.profile && p.Next != p.State {
			return
		}
	}
	delete(v.c.busy, v.node.Name)
	delete(v.world.Busy, v.node.Name)
}

// profiles carries out the decisions of the profiles until one fails.
func (v *visit) profiles(ctx context.Context, d *profile.Decision) error {
	for i := range d.Profiles {
		p := &d.Profiles[i]
		v.profile = p.Profile
		edits, events := len(v.edits), len(v.events)
		if err := v.one(ctx, d, p); err != nil {
			v.edits, v.events = v.edits[:edits], v.events[:events]
			return err
		}
	}
	v.profile = ""
	return nil
}

// one carries out the decision of one profile.
func (v *visit) one(ctx context.Context, d *profile.Decision, p *profile.Due) error {
	progress := v.data.Profiles[p.Profile]
	done, err := v.triggers(ctx, p, p.Enter, "enter "+string(p.State), progress.Transition)
	if err != nil || !done {
		return err
	}
	if err := v.notify(ctx, d, p); err != nil {
		return err
	}
	progress.Previous = p.State
	if b, busy := v.c.busy[v.node.Name]; p.Next == p.State || busy && b.profile != p.Profile && !v.finished {
		return nil
	}
	for _, take := range p.Take {
		v.facts.forgetLease(take.Key)
		if err := leases.Take(ctx, v.c.Client, take.Key, v.node.Name, v.world.Now, take.Duration); err != nil {
			return err
		}
	}
	v.finished = false
	since := v.begin(p.Profile)
	if done, err = v.triggers(ctx, p, p.Do, "to "+string(p.Next), since); err != nil || !done {
		return err
	}
	v.finished = true
	progress.Transition, progress.Current = v.world.Now, p.Next
	v.events = append(v.events, Event{Kind: Transition, Profile: p.Profile, From: p.State, To: p.Next})
	return nil
}

// begin marks the node as busy with a transition, and returns since when it is.
func (v *visit) begin(name string) time.Time {
	b, ok := v.c.busy[v.node.Name]
	if !ok || b.profile != name {
		b = busyNode{name, v.world.Now}
	}
	v.c.busy[v.node.Name], v.world.Busy[v.node.Name] = b, name
	return b.since
}

func (v *visit) notify(ctx context.Context, d *profile.Decision, p *profile.Due) error {
	for _, n := range p.Notify {
		if last, sent := v.data.Notifications[n.Name]; sent && last.Equal(v.world.Now) {
			continue // by another profile of the node, in this pass
		}
		if v.unsent[n.Name] >= maxUnsent {
			return fmt.Errorf("notification %s is not sent: it has failed for %d nodes in this pass", n.Name, maxUnsent)
		}
		if err := v.sender.Send(ctx, n, d.Message(v.node, p.Profile)); err != nil {
			v.unsent[n.Name]++
			return err
		}
		v.data.Notifications[n.Name] = v.world.Now
		v.c.record(Event{Kind: Notified, Node: v.node, Profile: p.Profile, Instance: n.Name})
	}
	return nil
}

// store writes the edits, the states and the label into the node, if anything differs.
func (v *visit) store(ctx context.Context) error {
	stored, err := nodes.Patch(ctx, v.c.Client, v.stored, func(node *corev1.Node) {
		for _, e := range v.edits {
			e.Apply(node)
		}
		set(&node.Annotations, profile.DataAnnotation, v.data.String())
		set(&node.Labels, profile.StateLabel, string(v.data.Serious(profile.NamesOf(node.Labels))))
	})
	if err != nil {
		return err
	}
	v.stored, v.world.Nodes[v.index] = stored, stored
	if v.finished {
		delete(v.c.busy, stored.Name)
		delete(v.world.Busy, stored.Name)
	}
	for _, e := range v.events {
		e.Node = stored
		v.c.record(e)
	}
	return nil
}

func set(in *map[string]string, key, value string) {
	out := maps.Clone(*in)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	*in = out
}
