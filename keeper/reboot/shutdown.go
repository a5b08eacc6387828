package reboot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"deployer/shortlist"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

const (
	evictAgain   = 2 * time.Second // between two requests for one pod, as in package drain
	maxEvictions = 8               // requests in parallel, as in package drain
)

// Shutdown cordons the Node, evicts its pods with volumes and waits for the volumes, if the machine goes
// down; otherwise it does nothing. It lasts at most the two timeouts of the configuration, and a few
// seconds for cordon and lock. A returned error means that nothing more can be done: the shutdown goes on.
func (h *Host) Shutdown(ctx context.Context) error {
	down, err := h.goingDown(ctx)
	if err != nil {
		return err
	}
	if !down {
		h.log.Info("the machine stays up, so the node keeps its pods")
		return nil
	}
	if err := h.record.exclusively(func() error { return h.cordon(ctx) }); err != nil {
		return fmt.Errorf("the pods stay: %w", err)
	}
	s := &shutdown{Host: h, asked: map[types.UID]time.Time{}, blocked: map[types.UID]string{}}
	began := time.Now()
	if err := s.evictAll(ctx); err != nil {
		return err
	}
	h.log.Info("pods with volumes have left", "evicted", len(s.gone), "left", len(s.left), "seconds", int(time.Since(began).Seconds()))
	return s.waitUnmounted(ctx)
}

// cordon cordons the Node unless somebody else has. The record is there before the cordon, so that no
// cordon is without one.
func (h *Host) cordon(ctx context.Context) error {
	mark := drain.RebootMark{ID: rand.Text(), Since: time.Now().UTC().Truncate(time.Second)}
	earlier, recorded, err := h.record.read()
	if err != nil {
		h.log.Warn("the record is replaced", "error", err)
	}
	if recorded {
		mark.ID = earlier.ID // the Node may still have it
	}
	if err := h.record.write(mark); err != nil {
		return err
	}
	done, err := ask(ctx, func(ctx context.Context) (bool, error) { return drain.CordonForReboot(ctx, h.api, h.config.Node, mark) })
	if err != nil {
		return fmt.Errorf("cordoning node %s: %w", h.config.Node, err) // it may be stored: the record stays
	}
	if !done {
		h.log.Info("the node was cordoned by somebody else before, and stays so after the boot", "node", h.config.Node)
		return h.record.remove()
	}
	h.log.Info("the node is cordoned", "node", h.config.Node)
	return nil
}

// shutdown is a shutdown in progress.
type shutdown struct {
	*Host
	gone    []types.UID  // pods that were evicted and have ended
	left    []corev1.Pod // pods with volumes that are still there, by the last look
	asked   map[types.UID]time.Time
	blocked map[types.UID]string // why the API did not evict a pod
}

// evictAll evicts the pods with volumes of claims, and then those that the scheduler had bound to the node
// at the moment of the cordon. Pods that come later tolerate the cordon, and would come for ever.
func (s *shutdown) evictAll(ctx context.Context) error {
	late := errors.New("time is up")
	limited, cancel := context.WithTimeoutCause(ctx, s.config.EvictTimeout, late)
	defer cancel()
	for range 2 {
		err := s.evictOnce(limited)
		if limited.Err() != nil && ctx.Err() == nil {
			s.log.Warn("pods with volumes are left after evict_timeout", "pods", shortlist.Texts(s.reasons(), 5))
			return nil
		}
		if err != nil {
			return fmt.Errorf("evicting pods: %w", err)
		}
	}
	return nil
}

// evictOnce evicts the pods that are there, and returns when they are gone.
func (s *shutdown) evictOnce(ctx context.Context) error {
	var wanted []types.UID
	for first := true; ; first = false {
		pods, err := s.pods(ctx)
		if err != nil {
			return err
		}
		if first {
			for i := range pods {
				if decide(&pods[i]) == evict {
					wanted = append(wanted, pods[i].UID)
				}
			}
		}
		s.left = slices.DeleteFunc(pods, func(p corev1.Pod) bool { return decide(&p) == ignore })
		waiting := slices.DeleteFunc(slices.Clone(s.left), func(p corev1.Pod) bool { return !slices.Contains(wanted, p.UID) })
		for _, uid := range wanted {
			there := slices.ContainsFunc(waiting, func(p corev1.Pod) bool { return p.UID == uid })
			if !there && !slices.Contains(s.gone, uid) {
				s.gone = append(s.gone, uid)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		if err := s.requestEvictions(ctx, waiting); err != nil {
			return err
		}
		if err := poll.Sleep(ctx, s.interval); err != nil {
			return err
		}
	}
}

// pods returns the pods of the node. Its kubelet may list no others.
func (s *shutdown) pods(ctx context.Context) ([]corev1.Pod, error) {
	return ask(ctx, func(ctx context.Context) ([]corev1.Pod, error) {
		pods, err := kube.ListAs[corev1.Pod](ctx, s.api, kube.PodKind(), "", v1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", s.config.Node).String(),
		})
		return pods, wrap("listing the pods of node "+s.config.Node, err)
	})
}

// requestEvictions requests the evictions of pods that are not ending yet.
func (s *shutdown) requestEvictions(ctx context.Context, pods []corev1.Pod) error {
	var group errgroup.Group
	group.SetLimit(maxEvictions)
	var asked []*corev1.Pod
	for i := range pods {
		if pod := &pods[i]; pod.DeletionTimestamp == nil && time.Since(s.asked[pod.UID]) >= evictAgain {
			s.asked[pod.UID] = time.Now()
			asked = append(asked, pod)
		}
	}
	answers := make([]error, len(asked))
	for i, pod := range asked {
		group.Go(func() error {
			_, answers[i] = ask(ctx, func(ctx context.Context) (any, error) { return nil, s.api.Evict(ctx, pod, nil) })
			return nil
		})
	}
	_ = group.Wait() // the answers have the errors
	for i, pod := range asked {
		var budget *kube.BudgetError
		switch err := answers[i]; {
		case err == nil:
			delete(s.blocked, pod.UID)
			s.log.Info("evicted", "pod", nameOf(pod))
		case errors.As(err, &budget):
			if s.blocked[pod.UID] == "" {
				s.log.Info("a PodDisruptionBudget keeps a pod; it is evicted when the budget allows", "pod", nameOf(pod))
			}
			s.blocked[pod.UID] = "its PodDisruptionBudget does not allow the eviction"
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default: // an admission webhook may refuse one pod, and the others must go
			if text := err.Error(); s.blocked[pod.UID] != text {
				s.log.Warn("a pod is not evicted", "pod", nameOf(pod), "error", err)
				s.blocked[pod.UID] = text
			}
		}
	}
	return nil
}

// reasons describes the pods that are left.
func (s *shutdown) reasons() []string {
	var out []string
	for i := range s.left {
		pod := &s.left[i]
		switch why := s.blocked[pod.UID]; {
		case decide(pod) == stay: // it was not to leave
		case pod.DeletionTimestamp != nil:
			out = append(out, nameOf(pod)+" (it is ending)")
		case why != "":
			out = append(out, nameOf(pod)+" ("+why+")")
		default:
			out = append(out, nameOf(pod))
		}
	}
	return out
}

// waitUnmounted waits until no volume of the evicted pods is mounted, and, when no pod with volumes is
// left, until the kubelet reports no volume in use. Then Kubernetes detaches volumes, and they can be
// attached to other nodes. After unmount_timeout the shutdown goes on.
func (s *shutdown) waitUnmounted(ctx context.Context) error {
	if len(s.gone) == 0 {
		return nil
	}
	began := time.Now()
	for {
		state, err := s.inUse(ctx)
		if err != nil {
			return fmt.Errorf("waiting for volumes: %w", err)
		}
		took := time.Since(began)
		if state == "" {
			s.log.Info("the volumes of evicted pods are unmounted", "seconds", int(took.Seconds()))
			return nil
		}
		if took >= s.config.UnmountTimeout {
			s.log.Warn("volumes are left after unmount_timeout", "reason", state)
			return nil
		}
		if err := poll.Sleep(ctx, s.interval); err != nil {
			return err
		}
	}
}

// inUse describes the volumes that the node still uses; empty for none.
func (s *shutdown) inUse(ctx context.Context) (string, error) {
	text, err := os.ReadFile(s.mountinfo)
	if err != nil {
		return "", err
	}
	if pods := mountedPods(string(text), s.gone); len(pods) > 0 {
		return fmt.Sprintf("volumes of %d evicted pods are mounted", len(pods)), nil
	}
	if len(s.left) > 0 {
		return "", nil // their volumes are reported, too
	}
	node, err := ask(ctx, func(ctx context.Context) (*corev1.Node, error) { return kube.GetNode(ctx, s.api, s.config.Node) })
	if err != nil {
		return "", err
	}
	if n := len(node.Status.VolumesInUse); n > 0 {
		return fmt.Sprintf("the kubelet reports %d volumes in use", n), nil
	}
	return "", nil
}
