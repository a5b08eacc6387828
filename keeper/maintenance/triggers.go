package maintenance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"deployer/keeper/maintenance/nodes"
	"deployer/keeper/maintenance/profile"
)

// triggers runs triggers one after the other, and returns true when all have ended. The first one that has not ended
// stops them; the next pass begins with the first again, so that each must be repeatable. what names the reason of
// their run, for the IDs of actions.
func (v *visit) triggers(ctx context.Context, p *profile.Due, list []*profile.Trigger, what string, since time.Time) (bool, error) {
	for _, t := range list {
		done, text, err := v.trigger(ctx, p.Profile, t, what, since)
		if err != nil {
			return false, fmt.Errorf("trigger %s: %w", t.Name, err)
		}
		e := Event{Kind: Triggered, Node: v.node, Profile: p.Profile, Instance: t.Name, Text: text}
		switch of, ok := t.Of.(profile.Edit); {
		case !done:
			e.Kind = InProgress
			v.c.record(e)
			return false, nil
		case !ok:
			v.c.record(e)
		case v.edit(of):
			v.events = append(v.events, e)
		}
	}
	return true, nil
}

func (v *visit) trigger(ctx context.Context, name string, t *profile.Trigger, what string, since time.Time) (done bool, text string, err error) {
	switch of := t.Of.(type) {
	case profile.Edit:
		return true, "", nil
	case *profile.Drain:
		return v.drain(ctx, of, since)
	case *profile.Reboot, *profile.Playbook:
		if v.c.Doer == nil {
			return false, "", fmt.Errorf("nothing carries out triggers of type %s", t.Type)
		}
		entered := v.data.Profiles[name].Transition
		done, err = v.c.Doer.Do(ctx, Action{
			ID:   fmt.Sprintf("%s/%s/%s/%s/%s", v.node.UID, name, entered.UTC().Format(time.RFC3339Nano), what, t.Name),
			Node: v.node, Profile: name, Trigger: t.Name, Since: since, Of: of,
		})
		return done, "", err
	}
	return false, "", fmt.Errorf("triggers of type %s are not known", t.Type)
}

// edit changes the node in memory; store writes it. It reports whether that changed anything.
func (v *visit) edit(e profile.Edit) bool {
	before := v.node
	v.edits = append(v.edits, e)
	v.node = before.DeepCopy()
	e.Apply(v.node)
	return !equality.Semantic.DeepEqual(before, v.node)
}

// drain does one step of a drain. It cordons the node at once, because pods would come back otherwise.
func (v *visit) drain(ctx context.Context, t *profile.Drain, since time.Time) (done bool, text string, err error) {
	if err := v.cordon(ctx); err != nil {
		return false, "", err
	}
	text, err = nodes.DrainStep(ctx, v.c.Client, v.node.Name, *t, since, v.world.Now)
	return err == nil && text == "", text, err
}

// cordon makes the node unschedulable in the API.
func (v *visit) cordon(ctx context.Context) error {
	if v.stored.Spec.Unschedulable {
		return nil
	}
	stored, err := nodes.Patch(ctx, v.c.Client, v.stored, func(node *corev1.Node) { node.Spec.Unschedulable = true })
	if err != nil {
		return err
	}
	v.stored, v.world.Nodes[v.index] = stored, stored
	v.node = stored.DeepCopy()
	for _, e := range v.edits {
		e.Apply(v.node)
	}
	return nil
}
