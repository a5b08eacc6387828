package replace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/nodes"
	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// Controller keeps the label of outdated kubelets, and replaces nodes. Its caller must be the only one in the cluster,
// and starts one pass at a time.
type Controller struct {
	Client *kube.Client
	Config *Config
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Record is called for each step of a replacement and each failure, in order; nil records none.
	Record func(Event)
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	Outdated   EventKind = "outdated"    // the label says that the kubelet needs an update
	Begun      EventKind = "begun"       // the node is cordoned, to be replaced
	InProgress EventKind = "in-progress" // pods are left on the node
	Replaced   EventKind = "replaced"    // its Node is deleted
	Cancelled  EventKind = "cancelled"
	Failed     EventKind = "failed"
)

// Event is something that happened to a node.
type Event struct {
	Kind EventKind
	Node *corev1.Node
	Text string
	Err  error // of a failure; nil otherwise
}

// String returns the event as a line for a journal.
func (e Event) String() string {
	if e.Err != nil {
		return fmt.Sprintf("node %s: failed: %v", e.Node.Name, e.Err)
	}
	return fmt.Sprintf("node %s: %s", e.Node.Name, e.Text)
}

// Pass looks at each node once. An error of one node does not stop the others; the error joins those of all nodes.
func (c *Controller) Pass(ctx context.Context) error {
	all, err := nodes.List(ctx, c.Client)
	if err != nil {
		return err
	}
	server, err := kube.ServerVersion(ctx, c.Client)
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	var errs []error
	for _, node := range all {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		for _, step := range []func() error{
			func() error { return c.label(ctx, node, server) },
			func() error { return c.replace(ctx, node) },
		} {
			if err := step(); err != nil {
				c.record(Event{Kind: Failed, Node: node, Err: err})
				errs = append(errs, fmt.Errorf("node %s: %w", node.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Controller) record(e Event) {
	if c.Record != nil {
		c.Record(e)
	}
}

// label sets the label of outdated kubelets.
func (c *Controller) label(ctx context.Context, node *corev1.Node, server string) error {
	update, err := needsUpdate(node.Status.NodeInfo.KubeletVersion, server)
	if err != nil {
		return err
	}
	value := fmt.Sprint(update)
	if node.Labels[UpdateLabel] == value {
		return nil
	}
	if _, err = nodes.Patch(ctx, c.Client, node, func(n *corev1.Node) { n.Labels = with(n.Labels, UpdateLabel, value) }); err == nil && update {
		c.record(Event{Kind: Outdated, Node: node, Text: fmt.Sprintf("the kubelet is %s, the API server %s", node.Status.NodeInfo.KubeletVersion, server)})
	}
	return err
}

// replace does the next step of the replacement of a node.
func (c *Controller) replace(ctx context.Context, node *corev1.Node) error {
	a, m, why := decide(node, c.Config.Replace != nil)
	switch a {
	case begin:
		return c.begin(ctx, node)
	case proceed:
		return c.proceed(ctx, node, m)
	case cancel:
		return c.cancel(ctx, node, m)
	case refuse:
		return why
	}
	return nil
}

// take takes or renews a lease for the node. It returns false when other nodes have all of them.
func (c *Controller) take(ctx context.Context, name string) (bool, error) {
	var free *profile.LeaseKey
	for _, key := range c.Config.leases() {
		lease, ok, err := leases.Read(ctx, c.Client, key)
		if err != nil {
			return false, err
		}
		if ok && lease.Holder == name {
			free = &key
			break
		}
		if free == nil && (!ok || lease.Free(c.now())) {
			free = &key
		}
	}
	if free == nil {
		return false, nil
	}
	err := leases.Take(ctx, c.Client, *free, name, c.now(), time.Duration(c.Config.Stagger.Duration))
	var taken *leases.TakenError
	if errors.As(err, &taken) {
		return false, nil
	}
	return err == nil, err
}

// begin cordons the node and marks it, when it is its turn.
func (c *Controller) begin(ctx context.Context, node *corev1.Node) error {
	turn, err := c.take(ctx, node.Name)
	if err != nil || !turn {
		return err
	}
	m := mark{Since: c.now().UTC().Truncate(time.Second), Cordoned: !node.Spec.Unschedulable}
	marked, err := nodes.Patch(ctx, c.Client, node, func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Annotations = with(n.Annotations, Annotation, m.text())
	})
	if err != nil {
		return err
	}
	c.record(Event{Kind: Begun, Node: marked, Text: "cordoned, to be replaced"})
	return c.proceed(ctx, marked, m)
}

// proceed drains the node while it has a lease. When it is drained, the hook gets the machine, and then the Node is
// deleted: a kubelet that still runs would create it again, and without the Node a failure of the hook would be
// forgotten. So a hook must accept a machine that it has had before.
func (c *Controller) proceed(ctx context.Context, node *corev1.Node, m mark) error {
	turn, err := c.take(ctx, node.Name)
	if err != nil || !turn {
		return err
	}
	if !node.Spec.Unschedulable {
		if node, err = nodes.Patch(ctx, c.Client, node, func(n *corev1.Node) { n.Spec.Unschedulable = true }); err != nil {
			return err
		}
	}
	left, err := nodes.DrainStep(ctx, c.Client, node.Name, c.Config.drain(), m.Since, c.now())
	if err != nil {
		return err
	}
	if left != "" {
		c.record(Event{Kind: InProgress, Node: node, Text: left})
		return nil
	}
	if err := c.runHook(ctx, node); err != nil {
		return fmt.Errorf("the replace hook: %w", err)
	}
	if _, err := c.take(ctx, node.Name); err != nil { // the time to the next node begins now
		return err
	}
	if err := c.Client.Delete(ctx, kube.NodeKind(), "", node.Name, -1); err != nil {
		return fmt.Errorf("deleting the Node, after the hook: %w", err)
	}
	c.record(Event{Kind: Replaced, Node: node, Text: "drained, given to the replace hook and deleted"})
	return nil
}

// runHook runs the hook. A request without a body gets one that describes the node.
func (c *Controller) runHook(ctx context.Context, node *corev1.Node) error {
	hook := *c.Config.Replace
	if hook.HTTP != nil && hook.HTTP.Body == "" {
		body, err := json.Marshal(map[string]string{"phase": "replace", "node": node.Name, "uid": string(node.UID), "provider_id": node.Spec.ProviderID, "machine_id": node.Status.NodeInfo.MachineID})
		if err != nil {
			return err
		}
		request := *hook.HTTP
		request.Body, request.Headers = string(body), with(request.Headers, "Content-Type", "application/json")
		hook.HTTP = &request
	}
	env := environment(node)
	for name, value := range hook.Env {
		env = append(env, name+"="+value)
	}
	_, err := hook.Run(ctx, env)
	if failure, ok := errors.AsType[*engine.Failure](err); ok && failure.Detail != "" {
		return fmt.Errorf("%w: %s", err, sanitize.FirstLine(failure.Detail, 200))
	}
	return err
}

// cancel undoes what begin has done.
func (c *Controller) cancel(ctx context.Context, node *corev1.Node, m mark) error {
	_, err := nodes.Patch(ctx, c.Client, node, func(n *corev1.Node) {
		delete(n.Annotations, Annotation)
		if m.Cordoned {
			n.Spec.Unschedulable = false
		}
	})
	if err == nil {
		c.record(Event{Kind: Cancelled, Node: node, Text: "the replacement was cancelled: label " + DeleteLabel + " is gone"})
	}
	return err
}

func with(in map[string]string, key, value string) map[string]string {
	out := maps.Clone(in)
	if out == nil {
		out = map[string]string{}
	}
	out[key] = value
	return out
}
