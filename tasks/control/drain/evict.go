package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"deployer/shortlist"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

const (
	lookEvery  = 500 * time.Millisecond // between two reads of the remaining pods
	evictAgain = 2 * time.Second        // between two requests for one pod
	atOnce     = 8                      // requests
)

// drainer is a drain in progress.
type drainer struct {
	c        *kube.Client
	node     string
	o        Options
	progress func(string)
	said     string

	evicted int
	left    []corev1.Pod // when it was last looked

	mu    sync.Mutex
	asked map[types.UID]time.Time
	kept  map[types.UID]string // why the API would not evict a pod
}

// evictAll evicts the pods of the node, and then the pods that the scheduler had bound
// to it at the moment of the cordon. Later pods name the node themselves and would be
// recreated for ever.
func (d *drainer) evictAll(ctx context.Context) error {
	d.asked, d.kept = map[types.UID]time.Time{}, map[types.UID]string{}
	for range 2 {
		pods, err := podsToEvict(ctx, d.c, d.node, d.o)
		if err != nil || len(pods) == 0 {
			return err
		}
		if err := d.evict(ctx, pods); err != nil {
			return err
		}
		d.evicted += len(pods)
	}
	return nil
}

// evict returns when these pods are gone.
func (d *drainer) evict(ctx context.Context, pods []corev1.Pod) error {
	wanted := map[types.UID]bool{}
	for i := range pods {
		wanted[pods[i].UID] = true
	}
	d.left = pods
	for {
		if err := d.ask(ctx); err != nil {
			return err
		}
		if err := d.tell(ctx); err != nil {
			return err
		}
		if err := poll.Sleep(ctx, lookEvery); err != nil {
			return err
		}
		now, err := podsOn(ctx, d.c, d.node, d.o.PodSelector)
		if err != nil {
			return err
		}
		d.left = nil
		for i := range now {
			if wanted[now[i].UID] && !d.o.stuck(&now[i], time.Now()) {
				d.left = append(d.left, now[i])
			}
		}
		if len(d.left) == 0 {
			return nil
		}
	}
}

// ask requests the eviction of the remaining pods that are not terminating yet.
func (d *drainer) ask(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range d.left {
		pod := &d.left[i]
		if pod.DeletionTimestamp == nil && time.Since(d.asked[pod.UID]) >= evictAgain {
			d.asked[pod.UID] = time.Now()
			group.Go(func() error { return d.askFor(ctx, pod) })
		}
	}
	return group.Wait()
}

func (d *drainer) askFor(ctx context.Context, pod *corev1.Pod) error {
	var grace *int64
	if d.o.GracePeriod != nil {
		seconds := int64(d.o.GracePeriod.Seconds())
		grace = &seconds
	}
	send := d.c.Evict
	if d.o.DisableEviction {
		send = d.c.DeletePod
	}
	err := send(ctx, pod, grace)
	var budget *kube.BudgetError
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.kept, pod.UID)
	if errors.As(err, &budget) {
		d.kept[pod.UID] = budget.Message
		return nil
	}
	if err != nil {
		return fmt.Errorf("evicting pod %s: %w", nameOf(pod), err)
	}
	return nil
}

// tell reports the reason of the wait when it has changed.
func (d *drainer) tell(ctx context.Context) error {
	if len(d.kept) > 0 {
		budgets, err := readBudgets(ctx, d.c)
		if err != nil {
			return err
		}
		d.explain(budgets)
	}
	text := "waiting for pods to leave: " + shortlist.Texts(d.stillThere(), 3)
	if text != d.said {
		d.said = text
		d.progress(text)
	}
	return nil
}

// explain adds the disruption budgets that block pods, which the API's response does not
// contain.
func (d *drainer) explain(budgets []policyv1.PodDisruptionBudget) {
	for i := range d.left {
		pod := &d.left[i]
		if _, kept := d.kept[pod.UID]; !kept {
			continue
		}
		if why := blockingBudget(pod, budgets); why != "" {
			d.kept[pod.UID] = why
		}
	}
}

// stillThere describes the reason for each remaining pod, pods blocked by a budget
// first.
func (d *drainer) stillThere() []string {
	var kept, ending []string
	for i := range d.left {
		pod := &d.left[i]
		switch why, ok := d.kept[pod.UID]; {
		case ok:
			kept = append(kept, fmt.Sprintf("%s (%s)", nameOf(pod), why))
		case pod.DeletionTimestamp != nil:
			ending = append(ending, nameOf(pod)+" ("+cmp.Or(held(pod), "it is ending")+")")
		default:
			ending = append(ending, nameOf(pod))
		}
	}
	return append(kept, ending...)
}
