package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// Pods starts a probe pod on each of a sample of nodes, and checks that the pods reach
// each other, Services and DNS names. All objects are in a namespace of their own, which
// Pods deletes at the end, also when ctx ends before. Namespaces of killed checks are
// deleted too.
func Pods(ctx context.Context, c *kube.Client, o Options) (rows []report.Row) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("the check of pods was not complete after %s", o.Timeout))
	defer cancel()
	if state, ok := c.FindReady(ctx); !ok {
		return []report.Row{report.Bad("test pods", "", "%s", state)}
	}
	removeStale(ctx, c, time.Now())
	names, rows := sample(ctx, c, o)
	ready, unready := readyOf(ctx, c, o.Joining)
	rows = append(rows, unready...)
	for _, name := range slices.Concat(o.Include, ready) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return append(rows, report.Bad("test pods", "", "no node is Ready"))
	}
	namespace, err := newNamespace(ctx, c)
	if err != nil {
		return append(rows, report.Bad("test pods", "", "creating a namespace: %v", err))
	}
	defer func() { rows = append(rows, removeNamespace(context.WithoutCancel(ctx), c, namespace)...) }()
	o.Progress(fmt.Sprintf("starting %d test pods", len(names)))
	services, err := start(ctx, c, namespace, names, o)
	if err != nil {
		return append(rows, report.Bad("test pods", "", "%v", err))
	}
	pods, failed := await(ctx, c, namespace, names)
	rows = append(rows, failed...)
	o.Progress(fmt.Sprintf("%d test pods run; querying them", len(pods)))
	rows = append(rows, probeAll(ctx, c, namespace, services, pods, o)...)
	return append(rows, onNodes(ctx, pods, o)...)
}

// onNodes returns the rows of the nodes with probe pods.
func onNodes(ctx context.Context, pods []running, o Options) []report.Row {
	parts := make([][]report.Row, len(pods))
	var group errgroup.Group
	group.SetLimit(nodeChecks)
	for i, p := range pods {
		group.Go(func() error {
			parts[i] = o.OnNode(ctx, p.node)
			return nil
		})
	}
	_ = group.Wait()
	return slices.Concat(parts...)
}

// sample returns the names of the Ready nodes, at most o.Nodes of them: a larger cluster
// is sampled evenly by name, so that racks named in order are all included.
func sample(ctx context.Context, c *kube.Client, o Options) ([]string, []report.Row) {
	states, err := kube.Nodes(ctx, c, nil)
	if err != nil {
		return nil, []report.Row{report.Bad("test pods", "", "%v", err)}
	}
	var names []string
	for _, s := range states {
		if s.Ready && (o.Of == nil || slices.Contains(o.Of, s.Name)) {
			names = append(names, s.Name)
		}
	}
	return spread(names, o.Nodes), nil
}

// readyOf returns the named nodes that are Ready, and a row for each other one.
func readyOf(ctx context.Context, c *kube.Client, names []string) (ready []string, rows []report.Row) {
	if len(names) == 0 {
		return nil, nil
	}
	states, err := kube.Nodes(ctx, c, names)
	if err != nil {
		return nil, []report.Row{report.Bad("test pods", "", "%v", err)}
	}
	for _, s := range states {
		if s.Ready {
			ready = append(ready, s.Name)
			continue
		}
		rows = append(rows, report.Bad("test pod", s.Name, "the node is not Ready: %s", s.Reason))
	}
	return ready, rows
}

// spread returns at most limit elements at even distances, beginning with the first.
func spread(names []string, limit int) []string {
	if len(names) <= limit {
		return names
	}
	picked := make([]string, limit)
	for i := range limit {
		picked[i] = names[i*len(names)/limit]
	}
	return picked
}
