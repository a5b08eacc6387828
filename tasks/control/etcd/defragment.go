package etcd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/poll"
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

// NewDefragment returns the action with its defaults. The pause is that of OpenShift's
// cluster-etcd-operator (pkg/operator/defragcontroller); etcd needs about 10 s for each GiB
// of data.
func NewDefragment() *Defragment {
	return &Defragment{Pause: 36 * time.Second, Timeout: 5 * time.Minute}
}

// Check returns the members that would be defragmented.
func (d *Defragment) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	open, hosts, err := d.remaining(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	survey := Take(ctx, open, hosts)
	states := survey.States(hosts)
	full := noSpace(ctx, open, survey, hosts)
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
	var freed int64
	done, pause := map[string]bool{}, d.Pause
	survey := Take(ctx, open, hosts)
	full := noSpace(ctx, open, survey, hosts)
	if full {
		pause = 0 // no client can write, so each second counts
		if err := d.compact(ctx, open, survey, hosts, actx.Progress); err != nil {
			return nil, err
		}
	}
	for {
		survey := Take(ctx, open, hosts)
		states := survey.States(hosts)
		order, err := cluster.EtcdDefragOrder(states, d.All || full)
		if err != nil {
			return nil, fmt.Errorf("%d members were defragmented: %w", len(done), err)
		}
		order = slices.DeleteFunc(order, func(host string) bool { return done[host] })
		if len(order) == 0 {
			break
		}
		if len(done) > 0 && pause > 0 {
			actx.Progress(fmt.Sprintf("%s before member %s", pause, order[0]))
			if err := poll.Sleep(ctx, pause); err != nil {
				return nil, err
			}
		}
		// The order is computed anew for each member, because the leader may have changed.
		i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == order[0] })
		before := survey.Hosts[order[0]].Status.DBSize
		actx.Progress("defragmenting member " + order[0])
		if err := d.one(ctx, open, hosts, hosts[i]); err != nil {
			return nil, err
		}
		done[order[0]] = true
		after, _ := look(ctx, open, hosts[i].Name, hosts[i].Address)
		actx.Progress(fmt.Sprintf("member %s: the file had %s and has %s", order[0], Mebibytes(before), Mebibytes(after.Status.DBSize)))
		freed += max(0, before-after.Status.DBSize)
	}
	return engine.Output{"members": len(done), "freed_bytes": freed}, d.disarm(ctx, open, hosts)
}

// compact removes the history before the newest revision.
func (d *Defragment) compact(ctx context.Context, open Opener, s *Survey, hosts []Host, progress func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	member, err := s.serving(open, hosts)
	if err != nil {
		return err
	}
	defer func() { _ = member.Close() }()
	status, err := member.Status(ctx)
	if err != nil {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	progress(fmt.Sprintf("compacting the history before revision %d", status.Revision))
	if err := member.Compact(ctx, status.Revision); err != nil {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	return nil
}

// one defragments a member and waits until it serves again.
func (d *Defragment) one(ctx context.Context, open Opener, hosts []Host, h Host) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	member, err := open(h.Name, h.Address)
	if err != nil {
		return err
	}
	defer func() { _ = member.Close() }()
	if err := member.Defragment(ctx); err != nil {
		return fmt.Errorf("defragmenting etcd on %s: %w", h.Name, err)
	}
	_, err = WaitHealthy(ctx, open, hosts, h, d.Timeout, func(string) {})
	return err
}

// disarm ends the NOSPACE alarm, if there is one. disarm fails when a file is not smaller than
// its quota.
func (d *Defragment) disarm(ctx context.Context, open Opener, hosts []Host) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	survey := Take(ctx, open, hosts)
	if !noSpace(ctx, open, survey, hosts) {
		return nil
	}
	if err := cluster.EtcdBelowQuota(survey.States(hosts)); err != nil {
		return fmt.Errorf("the alarm NOSPACE stays: %w; delete objects (etcd allows it), or raise cluster.etcd.quota_backend_bytes and install, and defragment again", err)
	}
	member, err := survey.serving(open, hosts)
	if err != nil {
		return err
	}
	defer func() { _ = member.Close() }()
	return member.DisarmNoSpace(ctx)
}

// noSpace reports whether a member has the alarm of a full database.
func noSpace(ctx context.Context, open Opener, s *Survey, hosts []Host) bool {
	alarms, err := s.alarms(ctx, open, hosts)
	return err == nil && slices.ContainsFunc(alarms, func(text string) bool { return strings.HasPrefix(text, "NOSPACE ") })
}
