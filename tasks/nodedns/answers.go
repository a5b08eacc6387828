package nodedns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"deployer/engine"
	"deployer/tasks/podnet"
	"deployer/tasks/poll"
	"deployer/tasks/staticpod"
)

// Answers waits until the DNS cache of the node answers: a name of the cluster with its address, a name outside as
// cluster DNS answers it, and a pod of the host with any answer.
type Answers struct {
	Server    string        `yaml:"server" rule:"address" required:"true" doc:"address of the cache"`
	Reference string        `yaml:"reference" rule:"address" required:"true" doc:"address of cluster DNS"`
	Name      string        `yaml:"name" rule:"hostname" required:"true" doc:"name of the cluster, which must have an address, such as kubernetes.default.svc.cluster.local"`
	Manifest  string        `yaml:"manifest" rule:"path" required:"true" doc:"path of the cache's manifest, for missing_ok"`
	MissingOK bool          `yaml:"missing_ok" doc:"do not wait where the manifest does not exist. Default false"`
	Timeout   time.Duration `yaml:"timeout" range:"0s.." doc:"maximum wait; default 1m"`
}

var _ engine.Module = (*Answers)(nil)

// outsideName is a name that no server has (RFC 6761, 6.4): the upstream servers say so, or cluster DNS says that
// it reaches none. The cache must say the same.
const outsideName = "deployer-check.invalid"

// tryEvery is the time between two attempts.
const tryEvery = 500 * time.Millisecond

// attempt is the maximum time of an attempt with all its queries.
const attempt = 5 * time.Second

// Gate returns the same wait, for a cache that may not exist any more.
func (a *Answers) Gate() any {
	gate := *a
	gate.MissingOK = true
	return &gate
}

// Check asks once.
func (a *Answers) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if _, err := os.Stat(sys.Path(a.Manifest)); a.MissingOK && errors.Is(err, os.ErrNotExist) {
		return engine.NoChange(nil), nil
	}
	if a.try(ctx, sys) == nil {
		return engine.NoChange(nil), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// Apply waits.
func (a *Answers) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	return nil, poll.Until(ctx, cmp.Or(a.Timeout, time.Minute), tryEvery, func(ctx context.Context) (string, bool, error) {
		if err := a.try(ctx, sys); err != nil {
			return "", false, poll.Later(err)
		}
		return "", true, nil
	})
}

// try asks all questions once.
func (a *Answers) try(ctx context.Context, sys engine.System) error {
	ctx, cancel := context.WithTimeoutCause(ctx, attempt, errors.New("no answer within "+attempt.String()))
	defer cancel()
	server := net.JoinHostPort(a.Server, "53")
	if err := compare(ctx, server, net.JoinHostPort(a.Reference, "53"), a.Name); err != nil {
		return err
	}
	pods, err := staticpod.PodNetworks(ctx, sys, 1)
	if err != nil || len(pods) == 0 {
		return nil // containerd has a gate of its own, and a node may have no pods
	}
	conn, err := podnet.Target{Address: server, DNS: true}.Reach(ctx, pods[0].Path)
	if err != nil {
		return fmt.Errorf("pod %s/%s does not reach the DNS cache %s: %w", pods[0].Namespace, pods[0].Name, a.Server, err)
	}
	return conn.Close()
}

// compare asks the cache for a name of the cluster, and both servers for a name outside.
func compare(ctx context.Context, cache, reference, name string) error {
	inside, err := ask(ctx, cache, name)
	switch {
	case err != nil:
		return fmt.Errorf("asking the DNS cache %s for %s: %w", cache, name, err)
	case inside.code != codeOK || inside.records == 0:
		return fmt.Errorf("the DNS cache %s answers %s with %s", cache, name, inside)
	}
	want, err := ask(ctx, reference, outsideName)
	if err != nil {
		return fmt.Errorf("asking cluster DNS %s for %s: %w", reference, outsideName, err)
	}
	got, err := ask(ctx, cache, outsideName)
	switch {
	case err != nil:
		return fmt.Errorf("asking the DNS cache %s for %s: %w", cache, outsideName, err)
	case got.code != want.code:
		return fmt.Errorf("the DNS cache %s answers %s with %s, cluster DNS with %s", cache, outsideName, got, want)
	}
	return nil
}
