package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"deployer/engine/journal"
	"deployer/engine/lock"
	"deployer/engine/remote"
	"deployer/internal/tempdir"
)

// Session is a session with a host that keeps records; remote.Session implements it.
type Session interface {
	ListRecords(ctx context.Context) ([]remote.RecordEntry, *lock.Holder, error)
	ReadRecord(ctx context.Context, run string, offset int64) (data []byte, size int64, err error)
	Close() error
}

// FetchOptions are the options of Fetch.
type FetchOptions struct {
	// Hosts are the hosts that are asked, and Connect connects to one.
	Hosts   []string
	Connect func(ctx context.Context, host string) (Session, error)
	// Whole returns the ids of the runs that are read whole, of all runs that the hosts
	// know, newest first; may be nil.
	Whole func(all []*Entry) []string
}

// listLimit is the time limit for a host to connect and list its records.
const listLimit = 30 * time.Second

// validRun matches the ids of runs, which become names of files.
var validRun = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// keeper is a host that has answered.
type keeper struct {
	host    string
	session Session
	sizes   map[string]int64 // by run
	holder  *lock.Holder
	left    budget        // of this host's records
	time    time.Duration // that is left for them
}

// Fetch adds the records of hosts. Hosts that do not answer are in Failed; when none does,
// that is an error.
func (h *History) Fetch(ctx context.Context, o FetchOptions) error {
	temp, err := tempdir.New("", "deployer-records-")
	if err != nil {
		return fmt.Errorf("fetching the records of runs: %w", err)
	}
	h.Close()
	h.temp, h.fetched, h.left, h.Asked, h.Failed = temp, map[string]*Entry{}, budget{maxFetched, maxMemory}, o.Hosts, map[string]error{}
	keepers := h.connect(ctx, o)
	defer func() {
		for _, k := range keepers {
			_ = k.session.Close()
		}
	}()
	if len(keepers) == 0 {
		return errors.Join(fmt.Errorf("fetching the records of runs: none of the hosts that keep them answers%s", h.failures()), context.Cause(ctx))
	}
	for _, run := range runsOf(keepers) {
		if e := h.fetch(ctx, run, keepers, false); e != nil {
			h.fetched[run] = e
		}
	}
	if o.Whole == nil {
		return nil
	}
	all, _ := h.List()
	for _, run := range o.Whole(all) {
		if e := h.fetched[run]; e != nil {
			if whole := h.fetch(ctx, run, keepers, true); whole != nil {
				h.fetched[run] = whole
			}
		}
	}
	return nil
}

// connect connects to the hosts and lists their records.
func (h *History) connect(ctx context.Context, o FetchOptions) []*keeper {
	out := make([]*keeper, len(o.Hosts))
	failed := make([]error, len(o.Hosts))
	var all sync.WaitGroup
	for i, host := range o.Hosts {
		all.Go(func() { out[i], failed[i] = newKeeper(ctx, host, o.Connect) })
	}
	all.Wait()
	for i, err := range failed {
		if err != nil {
			h.Failed[o.Hosts[i]] = err
		}
	}
	return slices.DeleteFunc(out, func(k *keeper) bool { return k == nil })
}

func newKeeper(ctx context.Context, host string, connect func(context.Context, string) (Session, error)) (*keeper, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listLimit, fmt.Errorf("it did not answer within %v", listLimit))
	defer cancel()
	session, err := connect(ctx, host)
	if err != nil {
		return nil, err
	}
	list, holder, err := session.ListRecords(ctx)
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	k := &keeper{host: host, session: session, sizes: map[string]int64{}, holder: holder, left: budget{maxFetchedOfHost, maxMemoryOfHost}, time: hostLimit}
	list = slices.DeleteFunc(list, func(r remote.RecordEntry) bool { return !validRun.MatchString(r.Run) })
	slices.SortFunc(list, func(a, b remote.RecordEntry) int { return cmp.Compare(b.Run, a.Run) })
	for _, r := range list[:min(len(list), maxRunsOfHost)] {
		k.sizes[r.Run] = r.Size
	}
	return k, nil
}

// runsOf returns the runs that keepers have, newest first: ids begin with the time.
func runsOf(keepers []*keeper) []string {
	var out []string
	for _, k := range keepers {
		for run := range k.sizes {
			out = append(out, run)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(b, a) })
	return slices.Compact(out)
}

// fetch reads a run from the keepers that have it: the header and the outcome of the
// largest valid copy or, with whole, all copies to their ends. fetch returns nil when no copy
// is valid.
func (h *History) fetch(ctx context.Context, run string, keepers []*keeper, whole bool) *Entry {
	with := slices.DeleteFunc(slices.Clone(keepers), func(k *keeper) bool { _, has := k.sizes[run]; return !has })
	slices.SortStableFunc(with, func(a, b *keeper) int { return cmp.Compare(b.sizes[run], a.sizes[run]) })
	e := &Entry{Path: journal.Path(h.temp.Path, run)}
	for _, k := range keepers {
		if slices.Contains(with, k) {
			e.Keepers = append(e.Keepers, k.host)
		}
		if k.holder != nil && k.holder.Run == run && !k.holder.Draining {
			e.Holder = k.holder
		}
	}
	var from *keeper
	if whole {
		from, e.Conflict = h.readWhole(ctx, e, run, with)
	} else {
		from = h.readBrief(ctx, e, run, with)
	}
	if e.Conflict != nil {
		return e.withoutLog(run)
	}
	if from == nil {
		return nil
	}
	if err := h.decode(e, from); err != nil {
		h.Failed[from.host] = err
		return h.fetch(ctx, run, slices.DeleteFunc(slices.Clone(keepers), func(k *keeper) bool { return k == from }), whole)
	}
	if e.Report == nil && e.Holder != nil {
		e.Outcome = journal.Running
	}
	return e
}

// decode reads the log of an entry, which comes from a keeper.
func (h *History) decode(e *Entry, from *keeper) error {
	r, err := journal.Read(e.Path)
	if err != nil {
		return err
	}
	weight := int64(r.Weight())
	if err := errors.Join(from.left.take(0, weight), h.left.take(0, weight)); err != nil {
		return err
	}
	e.Record = r
	return nil
}

// withoutLog gives a run of which nothing can be said a record without events.
func (e *Entry) withoutLog(run string) *Entry {
	e.Record = &journal.Record{Header: journal.Header{Run: run}, Outcome: journal.Killed}
	return e
}
