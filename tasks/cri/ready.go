// Package cri has the gate for a container runtime: the runtime answers over CRI, as the
// kubelet requests it, and runs a container with the settings that pods get.
package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/receipt"
	"deployer/tasks/unit"
)

// Ready waits until the runtime is ready and, when the host has the image of pod
// sandboxes, has run a container. Ready returns at once when the runtime has done that
// since its process started.
type Ready struct {
	Unit    string        `yaml:"unit" rule:"unit" doc:"unit of the runtime; default containerd.service"`
	Socket  string        `yaml:"socket" rule:"path" doc:"socket of CRI; default /run/containerd/containerd.sock"`
	Image   string        `yaml:"image" rule:"image" doc:"image of pod sandboxes, as the runtime knows it; when the host does not have it, no container is run. Default: none is run"`
	CNIDir  string        `yaml:"cni_dir" rule:"path" doc:"directory of network configurations; only when it has one must the network be ready. Default /etc/cni/net.d"`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"maximum wait; default 1m"`
}

var _ engine.Module = (*Ready)(nil)

// Gate repeats the wait after a revert, when the runtime may be gone.
func (r *Ready) Gate() any { return r }

// probeName is the name of the pod that Ready runs.
const probeName = "deployer-runtime-probe"

// Defaults of arguments.
const (
	defaultSocket = "/run/containerd/containerd.sock"
	defaultCNIDir = "/etc/cni/net.d"
)

const pollEvery = 250 * time.Millisecond

// proof is the receipt of a runtime that has run a container.
type proof struct {
	Invocation string `json:"invocation"`
	PID        int    `json:"pid"`
}

func (r *Ready) unit() string { return cmp.Or(r.Unit, "containerd.service") }

func (r *Ready) client(sys engine.System) client {
	return client{sys.Path(cmp.Or(r.Socket, defaultSocket))}
}

// Check reports whether the runtime's process has run a container before: by a receipt,
// or by a pod that was created after the start of the process. A missing unit, as in a
// dry run and after a revert, is not waited for.
func (r *Ready) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	now, err := unit.Running(ctx, sys, r.unit())
	if err != nil {
		return engine.Change{}, err
	}
	if now.Missing {
		return engine.NoChange(engine.Output{"ran": false}), nil
	}
	if now.Up && r.proved(ctx, sys, now) {
		return engine.NoChange(engine.Output{"ran": true}), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

func (r *Ready) proved(ctx context.Context, sys engine.System, now unit.Identity) bool {
	var has proof
	if receipt.Read(sys, r.receipt(), &has) && has == (proof{now.Invocation, now.PID}) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	pods, err := r.client(sys).pods(ctx)
	if err != nil || r.ready(ctx, sys) != nil {
		return false
	}
	for _, p := range pods {
		if p.ready && p.name != probeName && p.created.After(now.Started) {
			return true
		}
	}
	return false
}

func (r *Ready) receipt() string { return receipt.Path("runtime", r.unit()) }

// Apply waits until the runtime is ready, and runs a container.
func (r *Ready) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	began := time.Now()
	ran, err := r.prove(ctx, sys, cmp.Or(r.Timeout, time.Minute))
	if err != nil {
		return nil, &engine.Failure{
			Message: fmt.Sprintf("%s is not healthy after %s: %v", r.unit(), time.Since(began).Round(100*time.Millisecond), err),
			Detail:  unit.Journal(context.WithoutCancel(ctx), sys, r.unit()),
		}
	}
	return engine.Output{"ran": ran, "elapsed_seconds": time.Since(began).Seconds()}, nil
}

func (r *Ready) prove(ctx context.Context, sys engine.System, timeout time.Duration) (ran bool, err error) {
	err = httpcheck.Poll(ctx, timeout, pollEvery, sys.Progress, func(ctx context.Context) error { return r.ready(ctx, sys) })
	if err != nil || r.Image == "" {
		return false, err
	}
	if has, err := r.client(sys).hasImage(ctx, r.Image); err != nil || !has {
		return false, err
	}
	before, err := unit.Running(ctx, sys, r.unit())
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timeout after %s", timeout))
	defer cancel()
	if err := r.runPod(limited, sys); err != nil {
		return false, fmt.Errorf("it cannot run a container: %w", err)
	}
	after, err := unit.Running(ctx, sys, r.unit())
	switch {
	case err != nil:
		return false, err
	case after.PID != before.PID || after.Invocation != before.Invocation:
		return false, fmt.Errorf("process %d ended while it ran a container", before.PID)
	}
	return true, receipt.Write(sys, r.receipt(), proof{after.Invocation, after.PID})
}

// attemptTimeout is the maximum duration of one attempt; a runtime answers within
// milliseconds.
const attemptTimeout = 5 * time.Second

// ready reads the runtime's own conditions once.
func (r *Ready) ready(ctx context.Context, sys engine.System) error {
	ctx, cancel := context.WithTimeoutCause(ctx, attemptTimeout, fmt.Errorf("no answer within %s", attemptTimeout))
	defer cancel()
	all, err := r.client(sys).conditions(ctx)
	if err != nil {
		return err
	}
	wanted := []string{"RuntimeReady"}
	if hasNetwork(sys.Path(cmp.Or(r.CNIDir, defaultCNIDir))) {
		wanted = append(wanted, "NetworkReady")
	}
	for _, name := range wanted {
		if c, said := all[name]; !c.ok {
			return fmt.Errorf("%s is not true: %s", name, cmp.Or(strings.TrimSpace(c.why), map[bool]string{false: "the runtime does not say why"}[said]))
		}
	}
	return nil
}

// hasNetwork reports whether a directory holds a file that the runtime reads as a
// network configuration (containerd/go-cni, loadFromConfDir).
func hasNetwork(dir string) bool {
	entries, _ := os.ReadDir(dir) // one that is not there holds none
	for _, e := range entries {
		for _, suffix := range []string{".conf", ".conflist", ".json"} {
			if strings.HasSuffix(e.Name(), suffix) {
				return true
			}
		}
	}
	return false
}

// runPod starts and removes a pod. It first removes the pod of an earlier run, because
// the runtime refuses a name that exists.
func (r *Ready) runPod(ctx context.Context, sys engine.System) error {
	c := r.client(sys)
	pods, err := c.pods(ctx)
	if err != nil {
		return err
	}
	for _, p := range pods {
		if p.name == probeName {
			if err := c.remove(ctx, p.id); err != nil {
				return err
			}
		}
	}
	cgroupfs, err := c.cgroupfs(ctx)
	if err != nil {
		return err
	}
	parent := "system.slice" // systemd makes groups in slices only
	if cgroupfs {
		parent = ""
	}
	id, err := c.start(ctx, probeName, parent)
	if err != nil {
		return err
	}
	return errors.Join(ctx.Err(), c.remove(context.WithoutCancel(ctx), id))
}
