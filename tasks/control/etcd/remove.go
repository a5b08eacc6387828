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

// RemoveMember is the action `etcd_remove_member`: it removes a member from a running
// cluster, when [cluster.EtcdMayRemove] allows it. It ends only when the member list,
// read linearizably, does not have the member. A member that is not listed is no change.
type RemoveMember struct {
	Target  `yaml:",inline"`
	Member  string        `yaml:"member" rule:"word" doc:"Name of the member; default: the host."`
	PeerURL string        `yaml:"peer_url" rule:"url" doc:"Peer URL of the member, by which one is found that has not started yet and has no name. Default: none."`
	Dead    bool          `yaml:"dead" doc:"Fail when the member answers: its host is said to be dead. Default false."`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait until the quorum allows the removal; default 2m."`
}

// NewRemoveMember returns the action with its defaults.
func NewRemoveMember() *RemoveMember { return &RemoveMember{Timeout: 2 * time.Minute} }

// Check describes the removal. Check fails when no member answers.
func (r *RemoveMember) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	open, hosts, err := r.remaining(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	live := Take(ctx, open, hosts).Live()
	if live == nil {
		return engine.Change{}, fmt.Errorf("removing etcd member %s: %w", r.name(actx), errNoMember)
	}
	m, listed := live.Member(r.name(actx), r.PeerURL)
	if !listed {
		return engine.NoChange(nil), nil
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectMember, Target: "etcd member " + r.name(actx), Action: fmt.Sprintf("remove %x", m.ID)}), nil
}

// Apply waits until the removal is safe, and makes it.
func (r *RemoveMember) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	open, hosts, err := r.remaining(ctx, actx)
	if err != nil {
		return nil, err
	}
	if err := Remove(ctx, open, hosts, Departing{r.name(actx), r.PeerURL, r.Dead}, r.Timeout, actx.Progress); err != nil {
		return nil, fmt.Errorf("removing etcd member %s: %w", r.name(actx), err)
	}
	return nil, nil
}

func (r *RemoveMember) name(actx engine.ActionContext) string {
	if r.Member != "" {
		return r.Member
	}
	return actx.Host()
}

// Departing is a member that leaves the cluster.
type Departing struct {
	Name    string // of the member and its host
	PeerURL string // may be empty
	Dead    bool   // its host is said to be dead, so the member must not answer
}

// errAlive is the error for a member that is said to be dead and answers.
var errAlive = errors.New("it answers, so its host is not dead: stop the host, or remove it without --dead")

// Remove removes a member through one of hosts. It consults the rule right before the
// removal, and waits up to timeout until the quorum allows it. It may be repeated after
// any interruption.
func Remove(ctx context.Context, open Opener, hosts []Host, m Departing, timeout time.Duration, progress func(string)) error {
	progress = changes(progress)
	return poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		survey := Take(ctx, open, hosts)
		live := survey.Live()
		if live == nil {
			return "", false, poll.Later(errNoMember)
		}
		found, listed := live.Member(m.Name, m.PeerURL)
		switch {
		case !listed:
			return "", true, nil
		case m.Dead && found.Healthy:
			return "", false, errAlive
		case slices.ContainsFunc(hosts, func(h Host) bool { return h.PeerURL != m.PeerURL && slices.Contains(found.PeerURLs, h.PeerURL) }):
			return "", false, fmt.Errorf("the member belongs to a host that stays in the cluster")
		}
		if err := cluster.EtcdMayRemove(live, found.ID); err != nil {
			return "", false, poll.Later(err)
		}
		return change(ctx, open, survey, hosts, Host{Name: m.Name}, found.ID, progress)
	})
}
