package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
)

// Defragment is the action `etcd_defragment`: it rewrites the database files of members,
// one member after the other, the leader last. Before each, every member must serve.
// Members whose files are small or full are left out.
//
// While the alarm NOSPACE is set, with which etcd refuses writes, all members are
// defragmented, without a pause, after a compaction of the whole history: API servers
// cannot compact then, because they write when they do. The alarm ends when all files are
// smaller than their quota; otherwise the action fails.
type Defragment struct {
	Target  `yaml:",inline"`
	All     bool          `yaml:"all" doc:"Include members whose file is smaller than 100 MiB, or of which less than 45 % holds no data. Default false."`
	Pause   time.Duration `yaml:"pause" range:"0s.." doc:"Time between two members; default 36s."`
	Timeout time.Duration `yaml:"timeout" range:"1ms.." doc:"Maximum time for one member; default 5m."`
}

// NewDefragment returns the action with its defaults.
func NewDefragment() *Defragment {
	return &Defragment{Pause: DefragPause, Timeout: DefragTimeout}
}

// Check returns the members that would be defragmented.
func (d *Defragment) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	open, hosts, err := d.remaining(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	survey := Take(ctx, open, hosts)
	states := survey.States(hosts)
	full := NoSpace(ctx, open, survey, hosts)
	order, err := cluster.EtcdDefragOrder(states, d.All || full)
	if err != nil {
		return engine.Change{}, fmt.Errorf("no member is defragmented: %w; repair etcd first", err)
	}
	var effects []engine.Effect
	if full {
		effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "history of etcd", Action: "compact"})
	}
	for _, host := range order {
		m := states[slices.IndexFunc(states, func(m cluster.EtcdMemberState) bool { return m.Host == host })]
		effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "etcd member " + host,
			Action: fmt.Sprintf("defragment: %s of %s hold data", Mebibytes(m.DBInUse), Mebibytes(m.DBSize))})
	}
	if full {
		effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "etcd alarm NOSPACE", Action: "disarm"})
	}
	change := engine.Changed(effects...)
	change.Needed = len(effects) > 0
	return change, nil
}

// Apply defragments. The output has the freed bytes.
func (d *Defragment) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	open, hosts, err := d.remaining(ctx, actx)
	if err != nil {
		return nil, err
	}
	done, freed, err := Defragmentation{All: d.All, Pause: d.Pause, Timeout: d.Timeout}.Run(ctx, open, hosts, actx.Progress)
	if err != nil {
		return nil, err
	}
	return engine.Output{"members": done, "freed_bytes": freed}, nil
}

// NoSpace reports whether a member has the alarm of a full database.
func NoSpace(ctx context.Context, open Opener, s *Survey, hosts []Host) bool {
	alarms, err := s.alarms(ctx, open, hosts)
	return err == nil && slices.ContainsFunc(alarms, func(text string) bool { return strings.HasPrefix(text, "NOSPACE ") })
}
