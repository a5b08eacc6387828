package main

import (
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/tasks/control/keyring"
	"deployer/test/bench/kube"
)

//go:embed kwok.yaml
var nodeStages []byte

// plane is the control plane of three masters, with KWOK, which plays the pods of all nodes.
type plane struct {
	keys    *keyring.Keys
	masters []*master
	kwok    *kube.Process
	lost    int // components of the control plane that have ended
}

// startPlane starts everything in dir, which exists. After an error nothing is left running.
func startPlane(ctx context.Context, net *network, dir string, programs map[string]string, s settings) (p *plane, err error) {
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		return nil, err
	}
	c, err := resolve(s)
	if err != nil {
		return nil, err
	}
	p = &plane{keys: keys}
	defer func() {
		if err != nil {
			p.stop()
			p = nil
		}
	}()
	for i := range masterCount {
		m := &master{
			cluster: c, node: c.Nodes[masterName(i)], root: filepath.Join(dir, masterName(i)), enter: net.enter(i),
			programs: programs, running: map[string]*kube.Process{},
		}
		if m.api, err = p.admin(m.url()); err != nil {
			return p, err
		}
		p.masters = append(p.masters, m)
		if err := m.writeFiles(keys); err != nil {
			return p, err
		}
	}
	if err := p.each(func(m *master) error { return m.startEtcd() }); err != nil {
		return p, err
	}
	for _, m := range p.masters {
		if err := errors.Join(m.startAPI(), m.awaitAPI(ctx), m.startControllers()); err != nil {
			return p, err
		}
	}
	if err := p.startKWOK(dir, programs[kube.KWOK]); err != nil {
		return p, err
	}
	// New pods are refused until their namespace has a service account.
	return p, p.masters[0].running[controllerProcess].Await(ctx, startTime, func(ctx context.Context) error {
		return p.api().Do(ctx, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", nil, nil)
	})
}

// startKWOK starts KWOK as a client of the first API server.
func (p *plane) startKWOK(dir, program string) error {
	identity, err := p.keys.Identity(keyring.Cluster, "kwok", []string{"system:masters"}, 24*time.Hour, time.Now())
	if err != nil {
		return err
	}
	config, err := kube.Config(p.masters[0].url(), p.keys.Files()[keyring.ClusterCert], identity)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"kwok.conf": config, "kwok.yaml": slices.Concat(nodeStages, []byte("---\n"), kube.PodStages)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	// The benchmark's kubelets renew the Leases.
	p.kwok, err = kube.Start(dir, "kwok", program, "--kubeconfig="+filepath.Join(dir, "kwok.conf"), "--config="+filepath.Join(dir, "kwok.yaml"),
		"--manage-all-nodes=true", "--node-lease-duration-seconds=0",
		"--cidr="+podCIDR, "--v=WARN")
	return err
}

// admin returns a client with all rights, which no limit of requests holds for.
func (p *plane) admin(url string) (*kube.API, error) {
	config, err := p.tlsConfig("bench-scale", "system:masters")
	return kube.NewAPI(url, "bench-scale", config), err
}

// tlsConfig returns the configuration of a client with a certificate of its own.
func (p *plane) tlsConfig(user string, groups ...string) (*tls.Config, error) {
	authority, err := p.keys.Authority(keyring.Cluster)
	if err != nil {
		return nil, err
	}
	identity, err := p.keys.Identity(keyring.Cluster, user, groups, 24*time.Hour, time.Now())
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool(), Certificates: []tls.Certificate{*identity}}, nil
}

// api returns a client of the first API server.
func (p *plane) api() *kube.API { return p.masters[0].api }

// each calls f for all masters at the same time.
func (p *plane) each(f func(*master) error) error {
	var group errgroup.Group
	for _, m := range p.masters {
		group.Go(func() error { return f(m) })
	}
	return group.Wait()
}

// restartAPI stops API servers together and starts them again. Their flags are those of the cluster of each master.
func (p *plane) restartAPI(masters ...*master) error {
	var group errgroup.Group
	for _, m := range masters {
		group.Go(func() error {
			m.stop(apiProcess)
			return m.startAPI()
		})
	}
	return group.Wait()
}

// failed returns an error when a program has ended. Components of the control plane are started again, as the
// kubelet does; lost counts them. Controller managers and schedulers end when they have lost their leadership, API
// servers when etcd does not answer while they start.
func (p *plane) failed() error {
	for _, m := range p.masters {
		for name, r := range m.running {
			err := r.Ended()
			switch {
			case err == nil:
			case name == controllerProcess:
				p.lost++
				err = m.startControllerManager()
			case name == schedulerProcess:
				p.lost++
				err = m.startScheduler()
			case name == apiProcess:
				p.lost++
				err = m.startAPI()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", m.node.Name, err)
			}
		}
	}
	return p.kwok.Ended()
}

// stop ends all programs.
func (p *plane) stop() {
	if p.kwok != nil {
		p.kwok.Stop()
	}
	_ = p.each(func(m *master) error { m.stopAll(); return nil })
}
