package etcd

import (
	"context"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/poll"
)

// MayRestart is the action `etcd_may_restart`: it waits until [cluster.EtcdMayRestart] allows
// the member of the host to stop, and changes nothing. Playbooks run it right before they
// change what the member reads at its start.
type MayRestart struct {
	Target  `yaml:",inline"`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait until the other members serve; default 2m."`
}

// NewMayRestart returns the action with its defaults.
func NewMayRestart() *MayRestart { return &MayRestart{Timeout: 2 * time.Minute} }

// ReadOnly is true: the action asks the members only.
func (*MayRestart) ReadOnly() bool { return true }

// Check waits. In a dry run, which stops no member, it does nothing.
func (m *MayRestart) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if actx.CheckOnly() {
		return engine.NoChange(nil), nil
	}
	self, hosts, err := m.place(actx)
	if err != nil {
		return engine.Change{}, err
	}
	open, err := m.opener(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	if err := WaitMayRestart(ctx, open, hosts, self, m.Timeout, actx.Progress); err != nil {
		return engine.Change{}, fmt.Errorf("etcd of %s is not changed: %w", self.Name, err)
	}
	return engine.NoChange(nil), nil
}

// Apply is never called.
func (*MayRestart) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// WaitMayRestart waits until the member of host may stop.
func WaitMayRestart(ctx context.Context, open Opener, hosts []Host, host Host, timeout time.Duration, progress func(string)) error {
	progress = changes(progress)
	return poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		survey := Take(ctx, open, hosts)
		entry, _ := survey.Entry(host)
		if err := cluster.EtcdMayRestart(survey.Live(), entry.ID); err != nil {
			progress("waiting: " + err.Error())
			return "", false, poll.Later(err)
		}
		return "", true, nil
	})
}
