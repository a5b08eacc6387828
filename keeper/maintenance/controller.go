package maintenance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/maintenance/nodes"
	"deployer/keeper/maintenance/notify"
	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// Controller takes the nodes of a cluster through their profiles. Its fields may change between passes. It is not safe
// for concurrent use.
type Controller struct {
	Client *kube.Client
	Config *profile.Config
	// Doer carries out reboots and playbooks; nil when the file has none.
	Doer Doer
	// HTTP is the client for notifications and Prometheus; nil means one with the proxy of the environment.
	HTTP *http.Client
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Record is called for each event, in order; nil records none.
	Record func(Event)
	// Observe is called with each decision, also with those that change nothing; for status pages. May be nil.
	Observe func(node *corev1.Node, d profile.Decision)

	// busy are the nodes whose transition has triggers in progress. It is lost with the process: then drains count
	// their time anew, and a node waits until the lease of its stagger check has ended.
	busy map[string]busyNode
}

// busyNode is a node whose transition has triggers in progress.
type busyNode struct {
	profile string
	since   time.Time
}

// Pass looks at each node once and does what is due. An error of one node does not stop the others; the error joins
// those of all nodes.
func (c *Controller) Pass(ctx context.Context) error {
	all, err := nodes.List(ctx, c.Client)
	if err != nil {
		return err
	}
	c.forget(all)
	p := &pass{
		c: c, facts: newFacts(ctx, c.Client, c.HTTP), unsent: map[string]int{},
		sender: &notify.Sender{HTTP: c.HTTP, Kube: c.Client, Now: c.now},
	}
	p.world = &profile.World{Nodes: all, Busy: map[string]string{}, Facts: p.facts}
	for name, b := range c.busy {
		p.world.Busy[name] = b.profile
	}
	var errs []error
	for i, node := range all {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		p.world.Now = c.now().UTC()
		v := &visit{pass: p, index: i, node: node, stored: node}
		if err := v.run(ctx); err != nil {
			c.record(Event{Kind: Failed, Node: node, Profile: v.profile, Err: err})
			errs = append(errs, fmt.Errorf("node %s: %w", node.Name, err))
		}
	}
	return errors.Join(errs...)
}

// pass is what the visits of one pass share.
type pass struct {
	c      *Controller
	world  *profile.World
	facts  *facts
	sender *notify.Sender
	unsent map[string]int // failures of notifications, by instance
}

// forget drops nodes that do not exist any more.
func (c *Controller) forget(all []*corev1.Node) {
	old := c.busy
	c.busy = map[string]busyNode{}
	for _, node := range all {
		if b, ok := old[node.Name]; ok {
			c.busy[node.Name] = b
		}
	}
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
