package keeper

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/profile"
	"deployer/keeper/renewal"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// renewals is what a keeper remembers of the renewals of its certificates.
type renewals struct {
	urgentSince time.Time // since when a certificate has expired; zero while none has
	waits       string    // why certificates that are due are not renewed yet
	failed      string    // why the last renewal failed
	again       time.Time // when it may be tried again
}

const (
	// renewalLease is the duration of the lease by which masters renew their certificates in turn. One that
	// fails keeps it, so that the next one does not fail alike before a person can look.
	renewalLease = time.Hour
	// renewalRetry is the time after which a failed renewal is tried again. It leaves another master its
	// turn after the lease.
	renewalRetry = renewalLease + 10*time.Minute
	// urgentTurn is the time between the turns of masters when no lease gives them.
	urgentTurn = 2 * time.Minute
)

// renewal returns what renews the certificates of the host.
func (k *Keeper) renewal(file config.File) renewal.Renewal {
	api := ""
	if server, err := url.Parse(file.API.Server); err == nil {
		api = server.Host
	}
	return renewal.Renewal{
		Host: file.Host, Root: k.options.Root, Own: file.Own, API: api, Kube: k.access.Kube, Open: k.access.Open, Members: k.access.Members,
		Dial: k.options.Dial, Progress: func(text string) { k.options.Log.Info(text) },
	}
}

// renewCertificates renews the certificates of the host that are due, when it is this master's turn.
func (k *Keeper) renewCertificates(ctx context.Context, file config.File, host world.Own, apiErr error) decide.Decision {
	d := decide.Renewal(file.Keeper.Certificates, file.Host, host, lifetimes(file))
	urgent := decide.Urgent(host)
	if !urgent {
		k.renewals.urgentSince = time.Time{}
	} else if k.renewals.urgentSince.IsZero() {
		k.renewals.urgentSince = host.Now
	}
	if len(d.Actions) == 0 {
		k.renewals.failed = ""
		return d
	}
	due := k.history.Fresh(d.Actions, host.Now)
	if len(due) == 0 || host.Now.Before(k.renewals.again) {
		return decide.Decision{Blocked: d.Blocked}
	}
	leased, why := false, ""
	if !file.Keeper.DryRun {
		leased, why = k.renewalTurn(ctx, file, urgent, apiErr)
	}
	if why == "" {
		why = k.act(ctx, file, due, nil)
	}
	if why != k.renewals.waits { // each master waits for its turn, which is no problem
		k.renewals.waits = why
		if why != "" {
			k.options.Log.Info("certificates wait", "why", why)
		}
	}
	if why != "" {
		return decide.Decision{Blocked: d.Blocked}
	}
	k.own.stale.at, k.renewals.failed = time.Time{}, ""
	switch result := k.done[len(k.done)-1].Result; result {
	case actionlog.ResultDone, actionlog.ResultDryRun:
		if leased {
			_ = k.takeRenewalLease(ctx, file.Host, time.Second) // the least duration: it is free again
		}
	default:
		k.renewals.failed = "certificates of " + file.Host + " were not renewed: " + result
		k.renewals.again = time.Now().Add(renewalRetry)
	}
	return decide.Decision{Actions: due, Blocked: d.Blocked}
}

// renewalTurn takes the lease of renewals. While the API refuses everybody because certificates have
// expired, turns go by the order of the masters. It returns the reason when it is another master's turn.
func (k *Keeper) renewalTurn(ctx context.Context, file config.File, urgent bool, apiErr error) (leased bool, why string) {
	if apiErr == nil {
		if apiErr = k.takeRenewalLease(ctx, file.Host, renewalLease); apiErr == nil {
			return true, ""
		}
		if taken, ok := errors.AsType[*leases.TakenError](apiErr); ok {
			return false, fmt.Sprintf("it is the turn of %s, or the renewal there has failed within the last hour", taken.Holder)
		}
	}
	if !urgent {
		return false, apiErr.Error()
	}
	turn := time.Duration(max(0, slices.Index(file.Masters, file.Host))) * urgentTurn
	if at := k.renewals.urgentSince.Add(turn); time.Now().Before(at) {
		return false, fmt.Sprintf("certificates have expired, and the API gives no lease (%v); the turn of this master is at %s", apiErr, at.UTC().Format(time.TimeOnly))
	}
	return false, ""
}

func (k *Keeper) takeRenewalLease(ctx context.Context, host string, d time.Duration) error {
	key := profile.LeaseKey{Namespace: status.Namespace, Name: "deployer-keeper-certificates"}
	return leases.Take(ctx, k.access.Kube.WithRetryTimeout(-1), key, host, time.Now(), d)
}
