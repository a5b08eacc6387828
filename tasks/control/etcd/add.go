package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/poll"
)

// AddMember is the action `etcd_add_member`: it adds a host to a running cluster, as
// etcd_plan decided. AddMember removes the member that lost its data, then adds the host as a
// learner, each only when the rule for it holds: a host joins only while all members serve. A
// member whose address changed gets its peer URL. AddMember does nothing for another host that
// is a member or starts with a new cluster, and
// fails for a host whose etcd must stay untouched.
type AddMember struct {
	Target  `yaml:",inline"`
	Plan    string        `yaml:"plan" rule:"variable" doc:"Name under which etcd_plan was registered." required:"true"`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait until the change is allowed; default 2m."`
}

// NewAddMember returns the action with its defaults.
func NewAddMember() *AddMember { return &AddMember{Timeout: 2 * time.Minute} }

type step struct{ action, reason, removeID string }

// Check describes the change of the membership.
func (a *AddMember) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	self, hosts, err := a.place(actx)
	if err != nil {
		return engine.Change{}, err
	}
	s, err := a.step(actx)
	if err != nil {
		return engine.Change{}, err
	}
	switch s.action {
	case cluster.EtcdRefuse:
		return engine.Change{}, fmt.Errorf("etcd must not be touched on %s: %s", self.Name, s.reason)
	case cluster.EtcdJoin, cluster.EtcdReplace, cluster.EtcdReaddress:
	default:
		return engine.NoChange(nil), nil
	}
	open, err := a.opener(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	survey := Take(ctx, open, hosts)
	if s.action == cluster.EtcdReaddress {
		if entry, ok := survey.Entry(self); ok && !slices.Contains(entry.PeerURLs, self.PeerURL) {
			return engine.Changed(readdressed(self, entry.PeerURLs)), nil
		}
		return engine.NoChange(nil), nil // an earlier run has done it
	}
	if live := survey.Live(); live != nil && s.removeID == "" && listed(live, self) {
		return engine.NoChange(nil), nil // an earlier run has done it
	}
	var effects []engine.Effect
	if s.removeID != "" {
		effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "etcd member " + s.removeID, Action: "remove", Reason: self.Name + " " + s.reason})
	}
	effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "etcd member " + self.Name, Action: "add as a learner"})
	return engine.Changed(effects...), nil
}

// Apply waits until the change is safe, makes it, and returns the flags for the start of
// the new member.
func (a *AddMember) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	self, hosts, err := a.place(actx)
	if err != nil {
		return nil, err
	}
	s, err := a.step(actx)
	if err != nil {
		return nil, err
	}
	removeID, err := ParseID(s.removeID)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Plan, err)
	}
	open, err := a.opener(ctx, actx)
	if err != nil {
		return nil, err
	}
	if s.action == cluster.EtcdReaddress {
		return nil, Readdress(ctx, open, hosts, self, a.Timeout, actx.Progress)
	}
	live, err := Add(ctx, open, hosts, self, removeID, a.Timeout, actx.Progress)
	if err != nil {
		return nil, err
	}
	probe := cluster.EtcdProbe{Name: self.Name, PeerURL: self.PeerURL}
	return engine.Output{"initial_cluster": live.InitialCluster(probe), "initial_state": "existing"}, nil
}

func (a *AddMember) step(actx engine.ActionContext) (step, error) {
	plan := map[string]any(actx.Registered(actx.Host(), a.Plan))
	if plan == nil {
		plan, _ = actx.Vars()[a.Plan].(map[string]any)
	}
	hosts, _ := plan["hosts"].(map[string]any)
	mine, ok := hosts[actx.Host()].(map[string]any)
	if !ok {
		return step{}, fmt.Errorf("%q holds no decision for host %s; etcd_plan must be registered under that name", a.Plan, actx.Host())
	}
	text := func(key string) string { s, _ := mine[key].(string); return s }
	return step{text("action"), text("reason"), text("remove_id")}, nil
}

// Add makes host a learner of the cluster, after removing the member removeID when that
// is not 0. It consults the rule right before each change, and waits up to timeout until
// the rule allows the change. It may be repeated after any interruption.
func Add(ctx context.Context, open Opener, hosts []Host, host Host, removeID uint64, timeout time.Duration, progress func(string)) (*cluster.EtcdLive, error) {
	var added *cluster.EtcdLive
	progress = changes(progress)
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		survey := Take(ctx, open, hosts)
		live := survey.Live()
		if live == nil {
			return "", false, poll.Later(errNoMember)
		}
		gone := !slices.ContainsFunc(live.Members, func(m cluster.LiveMember) bool { return m.ID == removeID })
		if listed(live, host) && gone {
			added = live
			return "", true, nil
		}
		target := removeID
		if gone {
			target = 0
		}
		if err := mayChange(live, removeID != 0, target); err != nil {
			return "", false, poll.Later(err)
		}
		return change(ctx, open, survey, hosts, host, target, progress)
	})
	if err != nil {
		return nil, fmt.Errorf("adding %s to the etcd cluster: %w", host.Name, err)
	}
	return added, nil
}

// mayChange applies the rule for the addition or the replacement of a member. target is the
// member that is removed next; 0 for none.
func mayChange(live *cluster.EtcdLive, replacement bool, target uint64) error {
	if replacement {
		return cluster.EtcdMayReplace(live, target)
	}
	return cluster.EtcdMayAdd(live)
}

// change makes one change; the caller surveys the cluster again after it.
func change(ctx context.Context, open Opener, survey *Survey, hosts []Host, host Host, removeID uint64, progress func(string)) (string, bool, error) {
	member, err := survey.serving(open, hosts)
	if err != nil {
		return "", false, poll.Later(err)
	}
	defer func() { _ = member.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 2*lookTimeout)
	defer cancel()
	if removeID != 0 {
		progress(fmt.Sprintf("removing etcd member %x", removeID))
		err = member.Remove(ctx, removeID)
	} else {
		progress("adding " + host.Name + " as a learner")
		err = member.AddLearner(ctx, host.PeerURL)
	}
	switch {
	case err == nil:
		return "the member list to show the change", false, nil
	case passing(err):
		return "", false, poll.Later(err)
	}
	return "", false, err
}

func listed(live *cluster.EtcdLive, host Host) bool {
	return slices.ContainsFunc(live.Members, func(m cluster.LiveMember) bool { return slices.Contains(m.PeerURLs, host.PeerURL) })
}

// passing reports whether a later attempt may succeed: the request timed out or met an
// election. The request may have been executed.
func passing(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || transient(err)
}

// changes returns a reporter that drops repeated texts: etcd may refuse a change many
// times, until its members have been connected for five seconds.
func changes(progress func(string)) func(string) {
	last := ""
	return func(text string) {
		if text != last {
			last = text
			progress(text)
		}
	}
}
