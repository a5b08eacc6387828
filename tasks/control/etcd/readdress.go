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

// Readdress gives the member of host the peer URL of the host, in the member list. It
// consults the rule right before the change, and waits up to timeout until the rule allows
// it. Readdress leaves a member alone that has the URL, and may be repeated after any
// interruption.
func Readdress(ctx context.Context, open Opener, hosts []Host, host Host, timeout time.Duration, progress func(string)) error {
	progress = changes(progress)
	err := poll.Until(ctx, timeout, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		survey := Take(ctx, open, hosts)
		live := survey.Live()
		if live == nil {
			return "", false, poll.Later(errNoMember)
		}
		entry, listed := survey.Entry(host)
		switch {
		case !listed:
			return "", false, fmt.Errorf("%s is not a member", host.Name)
		case slices.Contains(entry.PeerURLs, host.PeerURL):
			return "", true, nil
		}
		if err := cluster.EtcdMayReaddress(live, entry.ID, host.PeerURL); err != nil {
			return "", false, poll.Later(err)
		}
		progress("changing the peer URL of " + host.Name + " to " + host.PeerURL)
		return "the member list to show the change", false, survey.readdress(ctx, open, hosts, entry.ID, host.PeerURL)
	})
	if err != nil {
		return fmt.Errorf("changing the peer URL of the etcd member of %s: %w", host.Name, err)
	}
	return nil
}

// readdress asks a member that serves for the change. Errors that pass are those of
// [poll.Later].
func (s *Survey) readdress(ctx context.Context, open Opener, hosts []Host, id uint64, peerURL string) error {
	member, err := s.serving(open, hosts)
	if err != nil {
		return poll.Later(err)
	}
	defer func() { _ = member.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 2*lookTimeout)
	defer cancel()
	if err := member.Readdress(ctx, id, peerURL); err != nil && passing(err) {
		return poll.Later(err)
	} else if err != nil {
		return err
	}
	return nil
}

// readdressed is the effect of a change from the peer URLs of the member list to that of
// the host.
func readdressed(host Host, from []string) engine.Effect {
	return engine.Effect{
		Kind: engine.EffectMember, Target: "etcd member " + host.Name,
		Action: fmt.Sprintf("change the peer URL from %s to %s", strings.Join(from, ", "), host.PeerURL),
	}
}
