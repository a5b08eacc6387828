package main

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"deployer/tasks/control/keyring"
	"deployer/test/bench/kube"
)

//go:embed kwok.yaml
var kwokStages []byte

// startTime is the time that each program of the control plane has to become ready, on a
// machine that does other work too.
const startTime = 2 * time.Minute

// leaseSeconds is the duration of the nodes' Leases, the kubelet's default: KWOK renews
// each after a quarter of it, as a kubelet does.
const leaseSeconds = 40

// controlPlane is a cluster without hosts: etcd, an API server, the controllers and
// the scheduler that pods need, and KWOK, which simulates nodes and pods. All of it
// listens on loopback only.
type controlPlane struct {
	keys      *keyring.Keys
	dir       string // files of the programs, with their logs
	port      int    // of the API server
	api       *kube.API
	processes []*kube.Process
}

// controllers are the controllers of kube-controller-manager that the benchmark
// needs: for pods that are replaced, budgets, endpoints and taints of nodes.
const controllers = "deployment-controller,replicaset-controller,disruption-controller,endpointslice-controller," +
	"node-lifecycle-controller,taint-eviction-controller,serviceaccount-controller,namespace-controller," +
	"garbage-collector-controller,pod-garbage-collector-controller"

// startControlPlane starts all programs in dir, which exists. After an error nothing is left
// running.
func startControlPlane(ctx context.Context, dir string, programs map[string]string) (c *controlPlane, err error) {
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		return nil, err
	}
	c = &controlPlane{keys: keys, dir: dir}
	defer func() {
		if err != nil {
			c.stop()
			c = nil
		}
	}()
	ports, err := freePorts(3)
	if err != nil {
		return c, err
	}
	c.port = ports[2]
	if err := c.writeFiles(); err != nil {
		return c, err
	}
	if err := c.startEtcd(ctx, programs[kube.Etcd], ports[0], ports[1]); err != nil {
		return c, err
	}
	if err := c.startAPI(ctx, programs[kube.APIServer], ports[0]); err != nil {
		return c, err
	}
	return c, c.startClients(ctx, programs)
}

func (c *controlPlane) startEtcd(ctx context.Context, program string, clients, peers int) error {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", clients), fmt.Sprintf("http://127.0.0.1:%d", peers)
	p, err := c.start("etcd", program,
		"--name=m1", "--data-dir="+filepath.Join(c.dir, "etcd"), "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=m1="+peer)
	if err != nil {
		return err
	}
	return p.Await(ctx, startTime, func(ctx context.Context) error { return getOK(ctx, client+"/health") })
}

func (c *controlPlane) startAPI(ctx context.Context, program string, etcd int) error {
	p, err := c.start("kube-apiserver", program,
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcd),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--secure-port="+strconv.Itoa(c.port),
		"--tls-cert-file="+c.file("apiserver.crt"), "--tls-private-key-file="+c.file("apiserver.key"),
		"--client-ca-file="+c.file("ca.crt"),
		"--service-account-key-file="+c.file("sa.pub"), "--service-account-signing-key-file="+c.file("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--cert-dir="+c.dir, "--event-ttl=5m", "--profiling=false")
	if err != nil {
		return err
	}
	authority, err := c.keys.Authority(keyring.Cluster)
	if err != nil {
		return err
	}
	identity, err := c.keys.Identity(keyring.Cluster, "bench", []string{"system:masters"}, 24*time.Hour, time.Now())
	if err != nil {
		return err
	}
	c.api = kube.NewAPI(c.url(), "bench-upgrade1000", &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool(), Certificates: []tls.Certificate{*identity}})
	return p.Await(ctx, startTime, c.api.Ready)
}

// startClients starts the programs that are clients of the API server.
func (c *controlPlane) startClients(ctx context.Context, programs map[string]string) error {
	config := "--kubeconfig=" + c.file("admin.conf")
	if _, err := c.start("kube-controller-manager", programs[kube.ControllerManager], config, "--controllers="+controllers,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=400", "--profiling=false",
		// On a busy machine renewals of Leases are late; a node that is not Ready for that
		// reason says nothing about a rollout.
		"--node-monitor-grace-period=3m"); err != nil {
		return err
	}
	if _, err := c.start("kube-scheduler", programs[kube.Scheduler], "--config="+c.file("scheduler.yaml"), "--secure-port=0"); err != nil {
		return err
	}
	if _, err := c.start("kwok", programs[kube.KWOK], config, "--config="+c.file("kwok.yaml"), "--manage-all-nodes=true",
		"--node-lease-duration-seconds="+strconv.Itoa(leaseSeconds), "--cidr="+podCIDR, "--v=WARN"); err != nil {
		return err
	}
	// New pods are refused until their namespace has a service account.
	p := c.processes[2]
	return p.Await(ctx, startTime, func(ctx context.Context) error {
		return c.api.Do(ctx, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", nil, nil)
	})
}

func (c *controlPlane) start(name, program string, args ...string) (*kube.Process, error) {
	p, err := kube.Start(c.dir, name, program, args...)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return p, err
}

// failed returns an error when a program has ended.
func (c *controlPlane) failed() error {
	for _, p := range c.processes {
		if err := p.Ended(); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all programs, clients before their servers.
func (c *controlPlane) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
}

func (c *controlPlane) url() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

func (c *controlPlane) file(name string) string { return filepath.Join(c.dir, name) }

// writeFiles writes keys, certificates and configuration files.
func (c *controlPlane) writeFiles() error {
	files := c.keys.Files()
	write := map[string][]byte{
		"ca.crt": files[keyring.ClusterCert], "sa.key": files[keyring.AccountKey], "sa.pub": files[keyring.AccountPub], "kwok.yaml": slices.Concat(kwokStages, []byte("---\n"), kube.PodStages),
	}
	server, err := newKey()
	if err != nil {
		return err
	}
	write["apiserver.crt"], err = c.keys.Sign(keyring.Certificate{
		Name: "apiserver", Authority: keyring.Cluster, CommonName: "kube-apiserver", Server: true, IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, server.Public(), time.Now())
	if err != nil {
		return err
	}
	if write["apiserver.key"], err = encodeKey(server); err != nil {
		return err
	}
	identity, err := c.keys.Identity(keyring.Cluster, "admin", []string{"system:masters"}, 24*time.Hour, time.Now())
	if err != nil {
		return err
	}
	if write["admin.conf"], err = kube.Config(c.url(), files[keyring.ClusterCert], identity); err != nil {
		return err
	}
	if write["scheduler.yaml"], err = json.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"clientConnection": map[string]any{"kubeconfig": c.file("admin.conf"), "qps": 200, "burst": 400},
		"leaderElection":   map[string]any{"leaderElect": false},
		// Nodes are alike: the scheduler scores only some of them, which costs less.
		"percentageOfNodesToScore": 10,
	}); err != nil {
		return err
	}
	for name, content := range write {
		if err := os.WriteFile(c.file(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
