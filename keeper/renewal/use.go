package renewal

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"deployer/keeper/certificates"
	"deployer/keeper/host"
	"deployer/tasks/control/etcd"
)

// serving is what served before a renewal; the proofs ask for that much, and not for more: while all
// certificates of a cluster have expired, no single master can make etcd or the API work.
type serving struct{ etcd, api bool }

func (r Renewal) serving(ctx context.Context) serving {
	var now serving
	if self, ok := r.member(); ok {
		now.etcd = etcd.Judge(etcd.Take(ctx, r.Open, r.Members), self).OK
	}
	_, now.api = r.Kube.Readyz(ctx)
	return now
}

// member returns the etcd member of this host.
func (r Renewal) member() (etcd.Host, bool) {
	at := slices.IndexFunc(r.Members, func(m etcd.Host) bool { return m.Name == r.Host })
	if at < 0 {
		return etcd.Host{}, false
	}
	return r.Members[at], true
}

// portKubelet is the port of the kubelet.
const portKubelet = 10250

// use restarts what reads certificates only at its start, and returns when every process of this host uses
// those of its files and serves as before.
func (r Renewal) use(ctx context.Context, sys *host.System, before serving) error {
	if self, ok := r.member(); ok {
		if err := r.serves(ctx, sys, "etcd/server", self.Address); err != nil {
			return err
		}
		if before.etcd {
			if _, err := etcd.WaitHealthy(ctx, r.Open, r.Members, self, certificates.ReadyTimeout, r.Progress); err != nil {
				return fmt.Errorf("this member of etcd: %w", err)
			}
		}
	}
	if err := r.serves(ctx, sys, "apiserver", r.API); err != nil {
		return err
	}
	if before.api {
		if err := certificates.Wait(ctx, r.servedTimeout(), "the API server is ready", func(ctx context.Context) (string, bool) { return r.Kube.Readyz(ctx) }); err != nil {
			return err
		}
	}
	for _, p := range certificates.Processes(r.Own.Certificates) {
		if err := p.Run(ctx, sys, before.api); err != nil {
			return err
		}
	}
	return r.serves(ctx, sys, "kubelet-serving", net.JoinHostPort(r.Own.Addresses[0], strconv.Itoa(portKubelet)))
}

// serves waits until an address serves the certificate of its file.
func (r Renewal) serves(ctx context.Context, sys *host.System, name, address string) error {
	if !r.has(name) {
		return nil
	}
	return certificates.Serves(ctx, sys, r.Dial, address, r.path(name), r.servedTimeout())
}

func (r Renewal) servedTimeout() time.Duration { return cmp.Or(r.served, certificates.ServedTimeout) }
