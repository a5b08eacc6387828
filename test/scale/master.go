package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/tasks/control/keyring"
	"deployer/test/bench/kube"
)

// startTime is the time that each program has to become ready, on a machine that does other work too.
const startTime = 5 * time.Minute

// master is a master without a host: etcd, etcd of events, and the control plane, with the flags and files that deployer
// gives them, but below a directory and without containers.
type master struct {
	cluster  *cluster.Cluster
	node     cluster.Node
	root     string   // directory with the files, in place of /
	enter    []string // the beginning of a command that runs in the master's network namespace
	programs map[string]string
	api      *kube.API // the API server of this master
	running  map[string]*kube.Process
}

// The names of the processes of a master.
const (
	etcdProcess       = "etcd"
	eventsProcess     = "etcd-events"
	apiProcess        = "kube-apiserver"
	controllerProcess = "kube-controller-manager"
	schedulerProcess  = "kube-scheduler"
)

// writeFiles writes the keys, certificates, kubeconfigs and configuration files of the master.
func (m *master) writeFiles(keys *keyring.Keys) error {
	files := keys.Files()
	files[keyring.ClusterSigning] = files[keyring.ClusterCert]
	for _, c := range m.node.Certificates {
		if err := sign(keys, c, files); err != nil {
			return err
		}
	}
	for name, user := range map[string]string{"controller-manager": "system:kube-controller-manager", "scheduler": "system:kube-scheduler"} {
		identity, err := keys.Identity(keyring.Cluster, user, nil, 24*time.Hour, time.Now())
		if err != nil {
			return err
		}
		if files["/etc/kubernetes/"+name+".conf"], err = kube.Config(m.url(), files[keyring.ClusterCert], identity); err != nil {
			return err
		}
	}
	for _, f := range m.node.APIServerFiles {
		content, err := yaml.Marshal(f.Value)
		if err != nil {
			return err
		}
		files[f.Dest] = content
	}
	for path, content := range files {
		path = filepath.Join(m.root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sign adds a certificate of a host, and a new key, to files.
func sign(keys *keyring.Keys, c cluster.Certificate, files keyring.Files) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	wanted := keyring.Certificate{
		Name: c.Name, Authority: c.Authority, CommonName: c.CN, Organizations: c.Orgs, DNSNames: c.DNS,
		Server: slices.Contains(c.Usages, "server"), Client: slices.Contains(c.Usages, "client"),
	}
	for _, ip := range c.IPs {
		wanted.IPs = append(wanted.IPs, net.ParseIP(ip))
	}
	if files[c.CertPath], err = keys.Sign(wanted, key.Public(), time.Now()); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	files[c.KeyPath] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return err
}

func (m *master) url() string { return fmt.Sprintf("https://%s:%d", m.node.IP, m.cluster.API.Port) }

// startEtcd starts the members of both etcd clusters, which serve when most of the masters have done so.
func (m *master) startEtcd() error {
	for _, e := range []struct {
		name    string
		cluster cluster.Etcd
		flags   []string
	}{{etcdProcess, m.cluster.Etcd, m.node.Args.Etcd}, {eventsProcess, *m.cluster.EtcdEvents, m.node.Args.EtcdEvents}} {
		if err := os.MkdirAll(filepath.Join(m.root, e.cluster.DataDir), 0o700); err != nil {
			return err
		}
		flags := append(rooted(e.flags, m.root), "--initial-cluster="+e.cluster.InitialCluster, "--initial-cluster-state=new", "--log-level=warn")
		if err := m.start(e.name, m.programs[kube.Etcd], flags...); err != nil {
			return err
		}
	}
	return nil
}

func (m *master) startAPI() error {
	return m.start(apiProcess, m.programs[kube.APIServer], rooted(m.node.Args.APIServer, m.root)...)
}

// awaitAPI waits until the API server is ready. One that has ended, because etcd did not answer in time, is
// started again, as the kubelet does.
func (m *master) awaitAPI(ctx context.Context) error {
	limit := time.Now().Add(startTime)
	for {
		err := m.running[apiProcess].Await(ctx, time.Until(limit), m.api.Ready)
		if err == nil || ctx.Err() != nil || time.Now().After(limit) {
			return err
		}
		if err := m.startAPI(); err != nil {
			return err
		}
	}
}

func (m *master) startControllers() error {
	if err := m.startControllerManager(); err != nil {
		return err
	}
	return m.startScheduler()
}

func (m *master) startScheduler() error {
	return m.start(schedulerProcess, m.programs[kube.Scheduler], rooted(m.node.Args.Scheduler, m.root)...)
}

func (m *master) startControllerManager() error {
	return m.start(controllerProcess, m.programs[kube.ControllerManager], rooted(m.node.Args.ControllerManager, m.root)...)
}

// start starts a program, whose log is NAME.log in the directory of the master. The program has the
// master's host name, by which leaders of elections are known.
func (m *master) start(name, program string, args ...string) error {
	command := slices.Concat(m.enter, []string{"/bin/sh", "-c", `hostname "$0" && exec "$@"`, m.node.Name, program}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.SysProcAttr = m.root, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	p, err := kube.StartCommand(cmd, m.root, name)
	if err == nil {
		m.running[name] = p
	}
	return err
}

// stop ends one program.
func (m *master) stop(name string) {
	if p := m.running[name]; p != nil {
		p.Stop()
		delete(m.running, name)
	}
}

// stopAll ends all programs, clients before their servers.
func (m *master) stopAll() {
	for _, name := range []string{keeperProcess, schedulerProcess, controllerProcess, apiProcess, eventsProcess, etcdProcess} {
		m.stop(name)
	}
	_ = unix.Unmount(filepath.Join(m.root, "proc"), unix.MNT_DETACH) // stage keeper mounts it; a removal of the files must not see it
}
