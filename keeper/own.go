package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/host"
	"deployer/keeper/observe"
	"deployer/keeper/rejoin"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// own is what a keeper remembers of its host, and of certificates of others.
type own struct {
	stale  seen[[]string] // processes that began before their certificate
	drift  seen[[]world.Drift]
	served seen[map[string]time.Time] // until when the certificates of kubelets are valid, by node

	requests seen[[]world.CertificateRequest] // of nodes for certificates
}

// seen is something that not every pass reads again.
type seen[T any] struct {
	value T
	err   error     // why it could not be read
	at    time.Time // when it was
}

// refresh reads the value again when it is older than a time.
func (s *seen[T]) refresh(every time.Duration, read func() (T, error)) {
	if time.Since(s.at) >= every {
		s.at = time.Now()
		s.value, s.err = read()
	}
}

const (
	// staleEvery is the time between searches for processes that began before their certificate: one asks
	// the runtime of containers.
	staleEvery = time.Hour
	// staleTimeout is the maximum time for it: a runtime that hangs must not hold up the pass. The next
	// attempt is staleAgain later.
	staleTimeout = 20 * time.Second
	staleAgain   = 5 * time.Minute
	// driftEvery is the time between comparisons of the host with what runs left: one reads some 200 files.
	// While there is a difference, the next comparison is sooner.
	driftEvery     = time.Hour
	driftAgainSoon = 2 * time.Minute
	// servedEvery is the time between connections to all kubelets for their certificates.
	servedEvery = time.Hour
)

// look observes the host.
func (k *Keeper) look(ctx context.Context, file config.File) (world.Own, []decide.Problem) {
	now := world.Own{Now: time.Now()}
	var err, errs error
	if now.Certificates, err = k.renewal(file).Look(ctx); err != nil {
		errs = errors.Join(errs, fmt.Errorf("certificates: %w", err))
	}
	if now.Missing, err = observe.Missing(file.Own.Addresses); err != nil {
		errs = errors.Join(errs, fmt.Errorf("addresses: %w", err))
	}
	if k.seekStale(ctx, file); k.own.stale.err != nil {
		errs = errors.Join(errs, fmt.Errorf("processes: %w", k.own.stale.err))
	}
	if file.Own.Etcd != nil {
		member, err := rejoin.Look(&host.System{Root: k.options.Root}, *file.Own.Etcd)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("etcd: %w", err))
		} else {
			now.Member = &member
		}
	}
	if k.compare(file); k.own.drift.err != nil {
		errs = errors.Join(errs, fmt.Errorf("files: %w", k.own.drift.err))
	}
	now.Stale, now.Drift = k.own.stale.value, k.own.drift.value
	problems := decide.OwnProblems(file.Host, now, lifetimes(file))
	if k.renewals.failed != "" {
		problems = append(problems, decide.Problem{Reason: decide.RenewalFailed, Message: k.renewals.failed})
	}
	if errs != nil {
		problems = append(problems, decide.Problem{Reason: decide.HostNotObserved, Message: errs.Error()})
	}
	return now, problems
}

func lifetimes(file config.File) decide.Lifetimes {
	return decide.Lifetimes{RenewBefore: file.Own.RenewBefore, Leaf: file.Own.LeafLifetime}
}

// compare seeks the files of the host that are not as the last run left them. A run that is at work changes
// files.
func (k *Keeper) compare(file config.File) {
	every := driftEvery
	if len(k.own.drift.value) > 0 {
		every = driftAgainSoon
	}
	if _, held := k.lock.Current(); held {
		return
	}
	k.own.drift.refresh(every, func() ([]world.Drift, error) { return observe.Drift(k.options.StateDir, k.options.Root, file.Own) })
}

// seekStale seeks processes of the host that began before their certificate.
func (k *Keeper) seekStale(ctx context.Context, file config.File) {
	every := staleEvery
	if k.own.stale.err != nil {
		every = staleAgain
	}
	k.own.stale.refresh(every, func() ([]string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, staleTimeout, fmt.Errorf("timeout after %s", staleTimeout))
		defer cancel()
		return k.renewal(file).Stale(ctx)
	})
}

// readServed sets until when the certificates of kubelets are valid.
func (k *Keeper) readServed(ctx context.Context, nodes []world.Node) {
	k.own.served.refresh(servedEvery, func() (map[string]time.Time, error) { return observe.Served(ctx, k.options.Dial, nodes), nil })
	for i := range nodes {
		nodes[i].Serves = k.own.served.value[nodes[i].Name]
	}
}

// backups returns the scheduled snapshots of all masters.
func backups(file config.File, here map[string]time.Time, keepers map[string]status.Status) []world.Backups {
	var out []world.Backups
	for _, b := range file.Own.Backups {
		one := world.Backups{Of: b.Of, Newest: here[b.Of], Since: observe.Scheduled(b)}
		for _, s := range keepers {
			if at := s.Snapshots[b.Of]; at.After(one.Newest) {
				one.Newest = at
			}
		}
		out = append(out, one)
	}
	return out
}
