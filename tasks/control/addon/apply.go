package addon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/addons"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Apply is the action `addon`: it applies an add-on of the inventory, removes the objects that the
// add-on no longer contains, and waits for the rollout.
type Apply struct {
	Name string `yaml:"name" rule:"label" doc:"Name of the add-on." required:"true"`
}

// retryTimeout is the time for which one request is retried while the webhook of an add-on
// starts that has just been applied.
const retryTimeout = 2 * time.Minute

// applyPlan is the result of Check.
type applyPlan struct {
	before  *record
	objects []*unstructured.Unstructured
	hooks   []addons.Hook
	digest  string // of the add-on
	apply   []kube.Planned
	late    []kube.Planned // objects of kinds that a program of the add-ons defines when it runs
	prune   []kube.Planned
	kept    []string
}

// Check compares the objects by a dry run on the server. Without changes it waits for the
// rollout: an earlier run may have been killed between apply and rollout.
func (a *Apply) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	add, before, err := a.find(actx)
	if err != nil {
		return engine.Change{}, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	return check(ctx, client, add, before, actx)
}

func check(ctx context.Context, client *kube.Client, add *addons.Addon, before []*unstructured.Unstructured, actx engine.ActionContext) (engine.Change, error) {
	planner := client
	if actx.CheckOnly() {
		planner = client.WithRetryTimeout(-1)
	}
	plan, err := planOf(ctx, planner, add, before)
	if err != nil && actx.CheckOnly() && kube.IsTransient(err) {
		return kube.UnknownChange(add.Objects, kube.NotCompared(err)), nil
	}
	if err != nil {
		return engine.Change{}, fmt.Errorf("add-on %s: %w", add.Name, err)
	}
	change := engine.Change{CheckState: plan, Output: engine.Output{"objects": len(add.Objects)}}
	for _, p := range slices.Concat(plan.apply, plan.late, plan.prune) {
		if p.Needed {
			change.Effects = append(change.Effects, p.Effect)
		}
	}
	change.Effects = append(change.Effects, hookEffects(plan.hooks, plan.events()...)...)
	if state := plan.before.State; state == stateApplying {
		change.Effects = append(change.Effects, addonEffect(add.Name, "complete: an earlier run has ended before its end"))
	} else if len(change.Effects) == 0 && (state == "" || plan.before.Digest != add.Digest || plan.before.Order != add.Order) {
		change.Effects = append(change.Effects, addonEffect(add.Name, "record what is applied"))
	}
	change.Needed = len(change.Effects) > 0
	if !change.Needed && add.Wait && !actx.CheckOnly() {
		return change, wait(ctx, client, add, plan.objects, actx)
	}
	return change, nil
}

// Apply carries out the plan of Check.
func (a *Apply) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	add, _, err := a.find(actx)
	if err != nil {
		return nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	plan, ok := change.CheckState.(*applyPlan)
	if !ok {
		return nil, errors.New("addon: Apply needs the change that Check returned")
	}
	if err := plan.execute(ctx, client, add, actx); err != nil {
		return nil, fmt.Errorf("add-on %s: %w", add.Name, err)
	}
	return nil, nil
}

func (p *applyPlan) execute(ctx context.Context, client *kube.Client, add *addons.Addon, actx engine.ActionContext) error {
	begun := p.before.with(p.objects)
	begun.Order = add.Order
	if err := begun.write(ctx, client); err != nil {
		return err
	}
	patient, hooks := client.WithRetryTimeout(retryTimeout), hookRun{client, add.Name, p.hooks, add.Timeout, actx}
	first := 0 // definitions of kinds and namespaces
	for first < len(p.apply) && isFoundation(p.apply[first].Object) {
		first++
	}
	if err := kube.Execute(ctx, patient, p.apply[:first], true, actx.Progress); err != nil {
		return err
	}
	pre, post := "", ""
	if events := p.events(); events != nil {
		pre, post = events[0], events[1]
	}
	if err := hooks.run(ctx, pre); err != nil {
		return err
	}
	if err := kube.Execute(ctx, patient, p.apply[first:], true, actx.Progress); err != nil {
		return err
	}
	if err := executeLate(ctx, patient, p.late, add.Namespace, add.Timeout, actx.Progress); err != nil {
		return err
	}
	if err := kube.Execute(ctx, client, p.prune, true, actx.Progress); err != nil {
		return err
	}
	warnKept(actx, add.Name, p.kept)
	if add.Wait {
		if err := wait(ctx, client, add, p.objects, actx); err != nil {
			return err
		}
	}
	if err := hooks.run(ctx, post); err != nil {
		return err
	}
	after := (&record{name: add.Name}).with(p.objects)
	after.Order, after.State, after.Digest, after.Timeout = add.Order, stateApplied, add.Digest, add.Timeout
	after.Hooks = slices.DeleteFunc(slices.Clone(p.hooks), func(h addons.Hook) bool {
		return !slices.Contains(h.Events, addons.PreDelete) && !slices.Contains(h.Events, addons.PostDelete)
	})
	return after.write(ctx, client)
}

// events returns the events of hooks before and after the objects are applied; none when the add-on
// is applied as it is wanted, so that a run only restores objects that somebody has changed.
func (p *applyPlan) events() []string {
	switch {
	case p.before.Digest == "":
		return []string{addons.PreInstall, addons.PostInstall}
	case p.before.State != stateApplied || p.before.Digest != p.digest:
		return []string{addons.PreUpgrade, addons.PostUpgrade}
	}
	return nil
}

// isFoundation reports whether an object is applied before the hooks, which may need it.
func isFoundation(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace"
}

// find returns the add-on, and the objects of the add-ons that are applied before it.
func (a *Apply) find(actx engine.ActionContext) (*addons.Addon, []*unstructured.Unstructured, error) {
	set := addonsOf(actx)
	var before []*unstructured.Unstructured
	for _, add := range set {
		if add.Name == a.Name && add.Unfetched {
			return nil, nil, fmt.Errorf("the chart of add-on %s is not fetched yet: run deployer artifacts fetch", a.Name)
		}
		if add.Name == a.Name {
			return add, before, nil
		}
		before = append(before, add.Objects...)
	}
	return nil, nil, fmt.Errorf("the inventory has no add-on %q", a.Name)
}

// addonsOf returns the add-ons of the inventory.
func addonsOf(actx engine.ActionContext) addons.Set {
	if set, ok := engine.Service[*addons.Set](actx.Services()); ok && set != nil {
		return *set
	}
	return nil
}

// planOf computes the changes of an add-on. before are the objects of the add-ons before it.
func planOf(ctx context.Context, c *kube.Client, add *addons.Addon, before []*unstructured.Unstructured) (*applyPlan, error) {
	p := &applyPlan{digest: add.Digest}
	var err error
	if p.before, err = readRecord(ctx, c, add.Name); err != nil {
		return nil, err
	}
	for _, o := range add.Objects {
		p.objects = append(p.objects, labelled(o, add.Name))
	}
	served, late, err := splitLate(ctx, c, p.objects, add.Namespace, before)
	if err != nil {
		return nil, err
	}
	p.late = planLate(late)
	var ofHooks []*unstructured.Unstructured
	for _, h := range add.Hooks {
		h.Object = h.Object.DeepCopy()
		p.hooks, ofHooks = append(p.hooks, h), append(ofHooks, h.Object)
	}
	if err := c.SetNamespace(ctx, ofHooks, add.Namespace, slices.Concat(before, p.objects)...); err != nil {
		return nil, err
	}
	if p.events() != nil {
		if err := refusedHooks(ctx, c, p.hooks); err != nil {
			return nil, err
		}
	}
	namespace, err := missingNamespace(ctx, c, add, slices.Concat(p.objects, ofHooks))
	if err != nil {
		return nil, err
	}
	p.apply, err = kube.Plan(ctx, c, served, true, append(before, namespace...)...)
	if err != nil {
		return nil, err
	}
	for _, one := range p.apply {
		if set := one.Live.GetLabels()[kube.LabelSet]; set != "" {
			return nil, fmt.Errorf("%s is an object of the cluster itself (%s=%s), which deployer manages by its own settings: take it out of the add-on", kube.Describe(one.Object), kube.LabelSet, set)
		}
	}
	for _, o := range namespace {
		create := kube.Planned{Object: o, Needed: true, Effect: kube.ObjectEffect(kube.Describe(o), "create", "", o)}
		p.apply = append([]kube.Planned{create}, p.apply...)
	}
	p.prune, p.kept, err = pruned(ctx, c, p.before, p.objects, "the add-on no longer contains it")
	return p, err
}

// labelled returns a copy of an object with the label of its add-on.
func labelled(o *unstructured.Unstructured, name string) *unstructured.Unstructured {
	o = o.DeepCopy()
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelAddon] = name
	o.SetLabels(labels)
	return o
}

// missingNamespace returns the namespace of an add-on when neither the cluster nor the add-on
// has it. It gets no label, because it is never removed.
func missingNamespace(ctx context.Context, c *kube.Client, add *addons.Addon, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	used := func(o *unstructured.Unstructured) bool { return o.GetNamespace() == add.Namespace }
	own := func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Namespace" && o.GetName() == add.Namespace
	}
	if add.Namespace == v1.NamespaceDefault || strings.HasPrefix(add.Namespace, "kube-") || !slices.ContainsFunc(objects, used) || slices.ContainsFunc(objects, own) {
		return nil, nil
	}
	_, err := c.Get(ctx, kube.NamespaceKind(), "", add.Namespace)
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kube.NamespaceKind())
	o.SetName(add.Namespace)
	return []*unstructured.Unstructured{o}, nil
}

func wait(ctx context.Context, c *kube.Client, add *addons.Addon, objects []*unstructured.Unstructured, actx engine.ActionContext) error {
	return kube.WaitRollouts(ctx, c, kube.WorkloadsOf(objects), 1, add.Timeout, actx.Progress)
}

func addonEffect(name, action string) engine.Effect {
	return engine.Effect{Kind: engine.EffectObject, Target: "add-on " + name, Action: action}
}

// warnKept reports objects that stay in the cluster although no add-on contains them.
func warnKept(actx engine.ActionContext, name string, kept []string) {
	if len(kept) > 0 {
		actx.Warn(fmt.Sprintf("add-on %s no longer contains these objects, which stay because data would be lost with them; remove them with kubectl delete when nothing needs them: %s", name, strings.Join(kept, ", ")))
	}
}
