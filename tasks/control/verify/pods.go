package verify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// cleanupTimeout bounds the removal of what a check has made. It goes on after
// the check was interrupted.
const cleanupTimeout = 15 * time.Second

// Pods starts a probe on each of some nodes and has them reach each other,
// Services and names. What it makes is in a namespace of its own, which is
// removed at the end, also when ctx ended before; what killed checks left behind
// is removed too.
func Pods(ctx context.Context, c *kube.Client, o Options) []report.Row {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("the check of pods was not done within %s", o.Timeout))
	defer cancel()
	if saw, ok := c.FindReady(ctx); !ok {
		return []report.Row{report.Bad("test pods", "", "%s", saw)}
	}
	sweep(ctx, c, time.Now())
	names, rows := sample(ctx, c, o.Nodes)
	if len(names) == 0 {
		return append(rows, report.Bad("test pods", "", "no node is Ready"))
	}
	namespace, err := newNamespace(ctx, c)
	if err != nil {
		return append(rows, report.Bad("test pods", "", "making a namespace for them: %v", err))
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if err := c.Delete(ctx, kube.NamespaceKind(), "", namespace, 0); err != nil {
			o.Progress(fmt.Sprintf("namespace %s could not be removed: %v; the next check does it", namespace, err))
		}
	}()
	o.Progress(fmt.Sprintf("starting %d test pods", len(names)))
	service, err := start(ctx, c, namespace, names, o)
	if err != nil {
		return append(rows, report.Bad("test pods", "", "%v", err))
	}
	pods, failed := await(ctx, c, namespace, names)
	rows = append(rows, failed...)
	o.Progress(fmt.Sprintf("%d test pods run; they look around", len(pods)))
	return append(rows, look(ctx, c, namespace, service, pods, o)...)
}

// sample chooses the nodes: all that are Ready, or as many as wanted, spread
// evenly over their names, so that racks named in order are all met.
func sample(ctx context.Context, c *kube.Client, limit int) ([]string, []report.Row) {
	states, err := kube.Nodes(ctx, c, nil)
	if err != nil {
		return nil, []report.Row{report.Bad("test pods", "", "%v", err)}
	}
	var names []string
	for _, s := range states {
		if s.Ready {
			names = append(names, s.Name)
		}
	}
	return spread(names, limit), nil
}

// spread picks at most limit elements at even distances, the first included.
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

func randomName() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails: crypto/rand
	return "deployer-verify-" + hex.EncodeToString(b)
}
