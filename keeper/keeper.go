package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"deployer/engine/agent/statedir"
	"deployer/keeper/access"
	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/report"
	"deployer/keeper/status"
)

// Options are the settings of a [Keeper] that no configuration has.
type Options struct {
	Config   string // path of the configuration; default [config.Path]
	StateDir string // state directory of the host, which has the run lock
	Root     string // before the paths of certificates; empty except in tests
	Version  string // of the program
	Log      *slog.Logger
	// Dial connects to hosts, to see whether they answer; default [access.Dial].
	Dial observe.Dial
}

// Keeper is the keeper of one master.
type Keeper struct {
	options Options
	lock    *statedir.RunLock
	metrics *report.Metrics

	host     string             // of the last good configuration
	access   *access.Access     // nil before the first configuration that could be used
	election *election          // nil without a good configuration
	nodes    *observe.NodeWatch // nil while another keeper leads
	history  decide.History
	log      *actionlog.Log
	done     []actionlog.Entry // the last actions, the newest last
	profiles profiles
	marks    marks
	own      own
	renewals renewals
	lost     lost
	postAdds postAdds
	written  written

	fullSince time.Time // when the keeper first saw that etcd is full; zero while it is not

	mu       sync.Mutex
	lastPass time.Time
	interval time.Duration
}

// firstInterval is the time between passes while no configuration can be used.
const firstInterval = 15 * time.Second

// New returns a keeper.
func New(o Options) *Keeper {
	if o.Dial == nil {
		o.Dial = access.Dial
	}
	return &Keeper{
		options: o, lock: statedir.Open(o.StateDir).RunLock(), log: actionlog.In(o.StateDir), metrics: report.NewMetrics(),
		history: decide.History{}, interval: firstInterval,
	}
}

// Run works until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	k.loadDone()
	over := make(chan struct{})
	go func() {
		defer close(over)
		k.keepMarks(ctx)
	}()
	defer func() { <-over }()
	stopServer := func() {}
	defer func() { stopServer() }()
	address := ""
	for {
		file, err := config.Read(k.options.Config)
		if err == nil {
			k.setInterval(file.Keeper.Interval)
			if file.Keeper.MetricsAddress != address {
				stopServer()
				address = file.Keeper.MetricsAddress
				if stopServer, err = serve(address, k.metrics.Handler(k.fresh)); err != nil {
					address, stopServer = "", func() {}
					k.options.Log.Error("no metrics", "error", err)
				}
				err = nil
			}
		}
		k.pass(ctx, file, err)
		select {
		case <-ctx.Done():
			k.leave()
			return nil
		case <-time.After(k.interval):
		}
	}
}

// fresh returns an error when the last pass is too old.
func (k *Keeper) fresh() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := time.Since(k.lastPass); age > 3*k.interval+passTimeout {
		return fmt.Errorf("the last pass ended %s ago", age.Round(time.Second))
	}
	return nil
}

func (k *Keeper) setInterval(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interval = d
}

// passTimeout is the maximum duration of the reads of a pass. Actions have limits of their own.
const passTimeout = 2 * time.Minute

// pass makes one pass. bad is the error of the configuration.
func (k *Keeper) pass(ctx context.Context, file config.File, bad error) {
	began := time.Now()
	now := status.Status{Version: k.options.Version, Time: began.UTC().Truncate(time.Second), DryRun: file.Keeper.DryRun}
	result := k.ready(&file, bad)
	if result == nil {
		worked := k.work(ctx, file)
		result = &worked
	}
	now.Host = file.Host
	now.Leader, now.Nodes = k.election.leads(), result.nodes
	now.Problems = result.problems[:min(len(result.problems), maxProblems)]
	now.Conditions = decide.Conditions(result.idle, result.standby, result.doing, result.problems)
	now.Done, now.Snapshots = slices.Clone(k.done), result.snapshots
	k.metrics.Pass(now, time.Since(began), result.failed)
	k.metrics.Host(result.host, result.snapshots)
	k.tell(ctx, now)
	k.mu.Lock()
	k.lastPass = time.Now()
	k.mu.Unlock()
}

// maxProblems is the number of problems that a status has: a ConfigMap has at most 1 MiB.
const maxProblems = 50
