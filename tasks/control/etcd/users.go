package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Users is the action `etcd_users`: it gives the users of Calico's etcd cluster their rights, those of
// [cluster.CalicoEtcdUsers], and switches on that etcd asks for them. A member knows a user by the common
// name of the certificate. Rights that the table does not have are revoked; users that it does not have
// are left alone.
type Users struct{}

// usersWait is the maximum time for which the action waits for a member that serves.
const usersWait = time.Minute

// Check compares users and rights. In a dry run members that do not serve are no failure: a new cluster
// has none.
func (u *Users) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	wait := usersWait
	if actx.CheckOnly() {
		wait = 0
	}
	keys, err := u.open(ctx, actx, wait)
	if err != nil {
		return engine.Change{}, err
	}
	var have Auth
	err = keys.with(ctx, func(ctx context.Context, m Member) (err error) {
		have, err = m.Auth(ctx)
		return err
	})
	if err != nil && !actx.CheckOnly() {
		return engine.Change{}, fmt.Errorf("reading the users of %s: %w", cluster.EtcdCalico, err)
	}
	steps := planUsers(cluster.CalicoEtcdUsers(), have)
	if len(steps) == 0 {
		return engine.NoChange(nil), nil
	}
	change := engine.Change{Needed: true, CheckState: steps}
	for _, s := range steps {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectMember, Target: cluster.EtcdCalico, Action: s.text})
	}
	return change, nil
}

// Apply makes the changes in their order.
func (u *Users) Apply(ctx context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	steps, _ := change.CheckState.([]userStep)
	keys, err := u.open(ctx, actx, usersWait)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		actx.Progress(s.text)
		if err := keys.with(ctx, s.do); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", cluster.EtcdCalico, s.text, err)
		}
	}
	return nil, nil
}

func (*Users) open(ctx context.Context, actx engine.ActionContext, wait time.Duration) (*Keyspace, error) {
	if _, err := actionctx.Cluster(actx); err != nil {
		return nil, err
	}
	return OpenKeyspace(ctx, actx, cluster.EtcdCalico, wait)
}

// userStep is one change of the users.
type userStep struct {
	text string
	do   func(context.Context, Member) error
}

// planUsers returns the changes that bring an etcd cluster to the wanted users. Rights come before etcd
// asks for them, and new ones before former ones are revoked, so that no program loses one on the way.
func planUsers(want []cluster.EtcdUser, have Auth) []userStep {
	var add, revoke []userStep
	for _, user := range want {
		if !slices.Contains(have.Users[user.Name], user.Name) {
			add = append(add, userStep{"add the user " + user.Name, func(ctx context.Context, m Member) error { return m.AddUser(ctx, user.Name) }})
		}
		wanted := map[[2]string]bool{}
		for _, right := range user.Rights {
			keys := rangeOf(right)
			wanted[[2]string{keys.Key, keys.End}] = true
			if !slices.Contains(have.Roles[user.Name], keys) {
				add = append(add, userStep{fmt.Sprintf("grant %s to %s %s", user.Name, verbOf(right.Write), right.Prefix), func(ctx context.Context, m Member) error { return m.Grant(ctx, user.Name, right) }})
			}
		}
		for _, keys := range have.Roles[user.Name] {
			if !wanted[[2]string{keys.Key, keys.End}] {
				revoke = append(revoke, userStep{fmt.Sprintf("revoke the right of %s to %s", user.Name, keys.Key), func(ctx context.Context, m Member) error { return m.Revoke(ctx, user.Name, keys) }})
			}
		}
	}
	steps := append(add, revoke...)
	if !have.Enabled || !slices.Contains(have.Users[cluster.EtcdRoot], cluster.EtcdRoot) {
		steps = append(steps, userStep{"ask clients for their users", func(ctx context.Context, m Member) error { return m.EnableAuth(ctx) }})
	}
	return steps
}

func verbOf(write bool) string {
	if write {
		return "read and write"
	}
	return "read"
}

func compareRanges(a, b KeyRange) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.End, b.End))
}
