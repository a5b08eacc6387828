package keeper

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"deployer/keeper/status"
	"deployer/tasks/poll"
)

// The times of the election. A keeper that loses its API server stops within renewDeadline, before
// another becomes the leader after leaseDuration. They are longer than those of Kubernetes' own
// controllers: nothing that the keeper does is urgent to the second.
const (
	leaseDuration = 40 * time.Second
	renewDeadline = 25 * time.Second
	retryPeriod   = 5 * time.Second
)

// election is the part of a keeper in the election of the leader. A nil election has no leader.
type election struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	leading context.Context // nil while another keeper leads
}

// elect takes part in the election until stop is called.
func elect(leases coordination.LeasesGetter, host string, log *slog.Logger) *election {
	ctx, cancel := context.WithCancel(context.Background())
	e := &election{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		for ctx.Err() == nil {
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{LeaseMeta: v1.ObjectMeta{Namespace: status.Namespace, Name: status.Name}, Client: leases,
					LockConfig: resourcelock.ResourceLockConfig{Identity: host}},
				LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(leading context.Context) {
						log.Info("this keeper leads")
						e.begun(leading)
					},
					OnStoppedLeading: e.ended,
				},
			})
			_ = poll.Sleep(ctx, retryPeriod)
		}
	}()
	return e
}

func (e *election) begun(leading context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leading = leading
}

func (e *election) ended() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leading = nil
}

// leader returns a context that ends when this keeper leads no longer; nil when another one leads.
func (e *election) leader() context.Context {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leading == nil || e.leading.Err() != nil {
		return nil
	}
	return e.leading
}

func (e *election) leads() bool { return e.leader() != nil }

// stop leaves the election, and gives up the lease.
func (e *election) stop() {
	if e != nil {
		e.cancel()
		<-e.done
	}
}
