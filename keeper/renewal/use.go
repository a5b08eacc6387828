package renewal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"strconv"

	"deployer/keeper/host"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/served"
	"deployer/tasks/hostfile"
	"deployer/tasks/poll"
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
			if _, err := etcd.WaitHealthy(ctx, r.Open, r.Members, self, readyTimeout, r.Progress); err != nil {
				return fmt.Errorf("this member of etcd: %w", err)
			}
		}
	}
	if err := r.serves(ctx, sys, "apiserver", r.API); err != nil {
		return err
	}
	if before.api {
		if err := r.wait(ctx, "the API server is ready", func(ctx context.Context) (string, bool) { return r.Kube.Readyz(ctx) }); err != nil {
			return err
		}
	}
	for _, p := range r.processes() {
		if err := p.run(ctx, sys, before.api); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return r.serves(ctx, sys, "kubelet-serving", net.JoinHostPort(r.Own.Addresses[0], strconv.Itoa(portKubelet)))
}

// run restarts the process when it began before its certificate, and waits until it is ready: without the
// API no process becomes it.
func (p process) run(ctx context.Context, sys *host.System, api bool) error {
	if err := host.Converge(ctx, sys, p.restart); err != nil || p.ready == nil || !api {
		return err
	}
	return host.Converge(ctx, sys, p.ready)
}

// serves waits until an address serves the certificate of its file.
func (r Renewal) serves(ctx context.Context, sys *host.System, name, address string) error {
	if !r.has(name) {
		return nil
	}
	path := r.path(name)
	return r.wait(ctx, fmt.Sprintf("%s serves the certificate %s", address, path), func(ctx context.Context) (string, bool) {
		text, err := hostfile.ReadFile(sys, path)
		if err != nil {
			return err.Error(), false
		}
		got, err := served.Certificate(ctx, r.Dial, address)
		if err != nil {
			return err.Error(), false
		}
		block, _ := pem.Decode(text)
		if block == nil || !bytes.Equal(block.Bytes, got.Raw) {
			return "it serves another certificate", false
		}
		return "", true
	})
}

func (r Renewal) wait(ctx context.Context, what string, done func(context.Context) (string, bool)) error {
	err := poll.Until(ctx, cmp.Or(r.served, servedTimeout), pollEvery, func(ctx context.Context) (string, bool, error) {
		text, ok := done(ctx)
		return text, ok, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
