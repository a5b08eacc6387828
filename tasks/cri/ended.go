package cri

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
)

// Ended ends the pods of a host that one network of CNI connects. A kubelet that runs starts them
// again, with the network that the host has by then. Pods in the network of the host stay.
//
// As a gate after a revert, Ended ends the pods of any network but that of the restored
// configuration.
type Ended struct {
	Network string `yaml:"network" rule:"word" doc:"name of the network in its configuration, such as deployer or k8s-pod-network; empty: every network but that of the present configuration in cni_dir"`
	Socket  string `yaml:"socket" rule:"path" doc:"socket of CRI; default /run/containerd/containerd.sock"`
	CNIDir  string `yaml:"cni_dir" rule:"path" doc:"directory of network configurations; default /etc/cni/net.d"`
}

var _ engine.Module = (*Ended)(nil)

// Gate returns the module that ends pods of any network but the present one.
func (e *Ended) Gate() any { return &Ended{Socket: e.Socket, CNIDir: e.CNIDir} }

// resultsDir has a file for each interface that CNI has added to a pod:
// NETWORK-SANDBOX-INTERFACE (libcni/api.go, CacheDir and getCacheFilePath).
const resultsDir = "/var/lib/cni/results"

// configSuffixes are those of the network configurations that containerd reads (go-cni
// WithDefaultConf).
var configSuffixes = []string{".conf", ".conflist", ".json"}

// Check looks for pods of the network that run.
func (e *Ended) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	found, err := e.find(ctx, sys)
	if err != nil || len(found) == 0 {
		return engine.NoChange(engine.Output{"pods": []string{}}), err
	}
	names := make([]string, 0, len(found))
	for _, p := range found {
		names = append(names, p.name)
	}
	slices.Sort(names)
	change := engine.Change{Needed: true, CheckState: found}
	for _, name := range names {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectRestart, Target: "Pod " + name, Action: "start again"})
	}
	return change, nil
}

// Apply ends the pods, and fails when one cannot be ended.
func (e *Ended) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	found, err := e.find(ctx, sys)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	names, failed := []string{}, []error(nil)
	var ending sync.WaitGroup
	for _, p := range found {
		ending.Go(func() {
			err := e.client(sys).end(ctx, p.id)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("pod %s: %w", p.name, err))
				return
			}
			names = append(names, p.name)
			sys.Progress(fmt.Sprintf("%d of %d pods have ended", len(names), len(found)))
		})
	}
	ending.Wait()
	slices.Sort(names)
	return engine.Output{"pods": names}, errors.Join(failed...)
}

func (e *Ended) client(sys engine.System) client {
	return client{sys.Path(cmp.Or(e.Socket, defaultSocket))}
}

// find returns the pods that run in the network. A host without a runtime has none.
func (e *Ended) find(ctx context.Context, sys engine.System) ([]pod, error) {
	connected, err := networks(sys)
	if err != nil || len(connected) == 0 {
		return nil, err
	}
	keep := ""
	if e.Network == "" {
		if keep, err = e.present(sys); err != nil || keep == "" {
			return nil, err
		}
	}
	all, err := e.client(sys).pods(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var found []pod
	for _, p := range all {
		network, ok := connected[p.id]
		if ok && p.ready && (e.Network == "" && network != keep || e.Network != "" && network == e.Network) {
			found = append(found, p)
		}
	}
	return found, nil
}

// networks returns the name of the network of each pod by its sandbox.
func networks(sys engine.System) (map[string]string, error) {
	entries, err := os.ReadDir(sys.Path(resultsDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, entry := range entries {
		// The sandbox and the interface have no hyphens; the name of a network may have some.
		rest, _, ok := cutLast(entry.Name())
		network, sandbox, ok2 := cutLast(rest)
		if ok && ok2 {
			out[sandbox] = network
		}
	}
	return out, nil
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// present returns the name of the network that the runtime gives to new pods: that of the first
// configuration by file name. It is empty when there is none.
func (e *Ended) present(sys engine.System) (string, error) {
	dir := sys.Path(cmp.Or(e.CNIDir, defaultCNIDir))
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for _, entry := range entries {
		if !slices.Contains(configSuffixes, filepath.Ext(entry.Name())) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		var config struct{ Name string }
		if err := json.Unmarshal(raw, &config); err != nil {
			return "", fmt.Errorf("%s: %w", entry.Name(), err)
		}
		return config.Name, nil
	}
	return "", nil
}
