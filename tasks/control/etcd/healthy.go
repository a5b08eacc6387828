package etcd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/poll"
)

// Healthy is the action `etcd_healthy`: a gate that opens when the host's own member
// serves linearizable reads, the member list counts it, and it agrees on the leader with
// all other members that answer. A learner that has caught up is promoted when the
// quorum is safe with it. A member that serves and is listed with another peer URL than that
// of its host gets this one: the only member of a cluster has nobody else to change the list.
type Healthy struct {
	Target  `yaml:",inline"`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 60s."`
}

// NewHealthy returns the action with its defaults.
func NewHealthy() *Healthy { return &Healthy{Timeout: time.Minute} }

// Gate repeats the wait after a revert.
func (h *Healthy) Gate() any { return h }

// Check waits, and reports whether a promotion or another peer URL is needed. In a dry run it surveys the
// cluster once and never fails.
func (h *Healthy) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	self, hosts, err := h.place(actx)
	if err != nil {
		return engine.Change{}, err
	}
	open, err := h.opener(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if actx.CheckOnly() {
		state := Judge(Take(ctx, open, hosts), self)
		return engine.NoChange(engine.Output{"healthy": state.OK, "detail": state.Text}), nil
	}
	state, err := WaitHealthy(ctx, open, hosts, self, h.Timeout, actx.Progress)
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{"healthy": true, "detail": state.Text}
	var effects []engine.Effect
	if state.Learner {
		effects = append(effects, engine.Effect{Kind: engine.EffectMember, Target: "etcd member " + self.Name, Action: "promote from learner to voting member"})
	}
	if !slices.Contains(state.PeerURLs, self.PeerURL) {
		effects = append(effects, readdressed(self, state.PeerURLs))
	}
	if len(effects) == 0 {
		return engine.NoChange(out), nil
	}
	change := engine.Changed(effects...)
	change.Output = out
	return change, nil
}

// Apply promotes the learner, changes the peer URL, and waits until the member is healthy as
// a voter.
func (h *Healthy) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	self, hosts, err := h.place(actx)
	if err != nil {
		return nil, err
	}
	open, err := h.opener(ctx, actx)
	if err != nil {
		return nil, err
	}
	if err := Promote(ctx, open, hosts, self, h.Timeout, actx.Progress); err != nil {
		return nil, err
	}
	if err := Readdress(ctx, open, hosts, self, h.Timeout, actx.Progress); err != nil {
		return nil, err
	}
	state, err := WaitHealthy(ctx, open, hosts, self, h.Timeout, actx.Progress)
	return engine.Output{"detail": state.Text}, err
}

// State is the health of one host's member.
type State struct {
	OK       bool
	Learner  bool     // a learner cannot serve reads; OK is then about the rest
	PeerURLs []string // in the member list, when OK
	Text     string   // the problem, or the version and the leader
}

// Judge evaluates the health of a host's member.
func Judge(s *Survey, host Host) State {
	look := s.Hosts[host.Name]
	entry, counted := s.Entry(host)
	switch {
	case !look.Answers:
		return State{Text: fmt.Sprintf("etcd on %s does not answer: %v", host.Name, look.Err)}
	case look.Err != nil:
		return State{Text: fmt.Sprintf("etcd on %s: %v", host.Name, look.Err)}
	case look.Status.Leader == 0:
		return State{Text: fmt.Sprintf("etcd on %s knows no leader", host.Name)}
	case s.Entries == nil:
		return State{Text: errNoMember.Error()}
	case !counted || entry.ID != look.Status.MemberID:
		return State{Text: fmt.Sprintf("the etcd cluster does not count %s (member %x)", host.Name, look.Status.MemberID)}
	}
	for name, other := range s.Hosts {
		if other.Answers && other.Status.Leader != look.Status.Leader {
			return State{Text: fmt.Sprintf("%s and %s follow different etcd leaders (%x and %x)", host.Name, name, look.Status.Leader, other.Status.Leader)}
		}
	}
	text := fmt.Sprintf("etcd %s, %d of %d members, leader %s", look.Status.Version, s.serve(), len(s.Entries), s.leader(look.Status.Leader))
	return State{OK: true, Learner: look.Status.Learner, PeerURLs: entry.PeerURLs, Text: text}
}

// serve returns the number of members that serve.
func (s *Survey) serve() int {
	n := 0
	for _, e := range s.Entries {
		if look, ok := s.byID(e.ID); ok && look.Err == nil {
			n++
		}
	}
	return n
}

func (s *Survey) leader(id uint64) string {
	for _, e := range s.Entries {
		if e.ID == id && e.Name != "" {
			return e.Name
		}
	}
	return fmt.Sprintf("%x", id)
}

// WaitHealthy waits until a host's member is healthy.
func WaitHealthy(ctx context.Context, open Opener, hosts []Host, host Host, timeout time.Duration, progress func(string)) (State, error) {
	var state State
	progress = changes(progress)
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		state = Judge(Take(ctx, open, hosts), host)
		if !state.OK {
			progress("waiting: " + state.Text)
		}
		return state.Text, state.OK, nil
	})
	return state, err
}

// Promote makes a host's learner a voting member as soon as it has caught up and the
// rule allows it. Promote leaves a voting member alone.
func Promote(ctx context.Context, open Opener, hosts []Host, host Host, timeout time.Duration, progress func(string)) error {
	progress = changes(progress)
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		survey := Take(ctx, open, hosts)
		entry, ok := survey.Entry(host)
		switch {
		case survey.Entries == nil:
			return "", false, poll.Later(errNoMember)
		case !ok:
			return "", false, fmt.Errorf("%s is not a member", host.Name)
		case !entry.Learner:
			return "", true, nil
		}
		if err := cluster.EtcdMayPromote(survey.Live(), entry.ID); err != nil {
			return "", false, poll.Later(err)
		}
		progress("promoting " + host.Name)
		member, err := survey.serving(open, hosts)
		if err != nil {
			return "", false, poll.Later(err)
		}
		defer func() { _ = member.Close() }()
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		if err := member.Promote(ctx, entry.ID); err != nil && !catchingUp(err) && !passing(err) {
			return "", false, err
		} else if err != nil {
			return "", false, poll.Later(err)
		}
		return "the member list to show the promotion", false, nil
	})
	if err != nil {
		return fmt.Errorf("promoting the etcd member of %s: %w", host.Name, err)
	}
	return nil
}
