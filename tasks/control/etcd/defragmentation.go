package etcd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/tasks/poll"
)

// The default times of a defragmentation. The pause is that of OpenShift's cluster-etcd-operator
// (pkg/operator/defragcontroller); etcd needs about 10 s for each GiB of data.
const (
	DefragPause   = 36 * time.Second // between two members
	DefragTimeout = 5 * time.Minute  // for one member
)

// Defragmentation rewrites the database files of members as [Defragment] describes it. It needs no run.
type Defragmentation struct {
	All     bool          // members too that [cluster.EtcdDefragOrder] leaves out
	Pause   time.Duration // between two members
	Timeout time.Duration // for one member
}

// Run defragments, and returns the number of members and the freed bytes. The error of a run that ended
// early comes with what was done before.
func (d Defragmentation) Run(ctx context.Context, open Opener, hosts []Host, progress func(string)) (done int, freed int64, err error) {
	defragmented, pause := map[string]bool{}, d.Pause
	survey := Take(ctx, open, hosts)
	full := NoSpace(ctx, open, survey, hosts)
	if full {
		pause = 0 // no client can write, so each second counts
		if err := d.compact(ctx, open, survey, hosts, progress); err != nil {
			return 0, 0, err
		}
	}
	for {
		survey := Take(ctx, open, hosts)
		states := survey.States(hosts)
		order, err := cluster.EtcdDefragOrder(states, d.All || full)
		if err != nil {
			return len(defragmented), freed, fmt.Errorf("%d members were defragmented: %w", len(defragmented), err)
		}
		order = slices.DeleteFunc(order, func(host string) bool { return defragmented[host] })
		if len(order) == 0 {
			break
		}
		if len(defragmented) > 0 && pause > 0 {
			progress(fmt.Sprintf("%s before member %s", pause, order[0]))
			if err := poll.Sleep(ctx, pause); err != nil {
				return len(defragmented), freed, err
			}
		}
		// The order is computed anew for each member, because the leader may have changed.
		i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == order[0] })
		before := survey.Hosts[order[0]].Status.DBSize
		progress("defragmenting member " + order[0])
		if err := d.one(ctx, open, hosts, hosts[i]); err != nil {
			return len(defragmented), freed, err
		}
		defragmented[order[0]] = true
		after, _ := look(ctx, open, hosts[i].Name, hosts[i].Address)
		progress(fmt.Sprintf("member %s: the file had %s and has %s", order[0], Mebibytes(before), Mebibytes(after.Status.DBSize)))
		freed += max(0, before-after.Status.DBSize)
	}
	return len(defragmented), freed, d.disarm(ctx, open, hosts)
}

// compact removes the history before the newest revision.
func (d Defragmentation) compact(ctx context.Context, open Opener, s *Survey, hosts []Host, progress func(string)) error {
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
func (d Defragmentation) one(ctx context.Context, open Opener, hosts []Host, h Host) error {
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
func (d Defragmentation) disarm(ctx context.Context, open Opener, hosts []Host) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	survey := Take(ctx, open, hosts)
	if !NoSpace(ctx, open, survey, hosts) {
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
