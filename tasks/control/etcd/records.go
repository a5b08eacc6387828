package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"deployer/engine"
	"deployer/tasks/poll"
)

// Record is a key of etcd with its value and the revision of its last change.
type Record struct {
	Key      string
	Value    []byte
	Revision int64
}

// Records reads and writes keys through one member.
type Records interface {
	// List reads at most limit records from a key on, linearizably, in the order of the keys.
	List(ctx context.Context, from string, limit int64) ([]Record, error)
	// Write writes a record when the key still has its revision; 0 stands for a key that does not
	// exist. It reports whether it has written.
	Write(ctx context.Context, r Record) (bool, error)
	// Delete removes a key; one that does not exist is no error.
	Delete(ctx context.Context, key string) error
}

func (r *remote) List(ctx context.Context, from string, limit int64) ([]Record, error) {
	resp, err := r.client.Get(ctx, from, clientv3.WithFromKey(), clientv3.WithLimit(limit))
	if err != nil {
		return nil, plain(err)
	}
	var out []Record
	for _, kv := range resp.Kvs {
		out = append(out, Record{string(kv.Key), kv.Value, kv.ModRevision})
	}
	return out, nil
}

func (r *remote) Write(ctx context.Context, rec Record) (bool, error) {
	resp, err := r.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(rec.Key), "=", rec.Revision)).
		Then(clientv3.OpPut(rec.Key, string(rec.Value))).
		Commit()
	if err != nil {
		return false, plain(err)
	}
	return resp.Succeeded, nil
}

func (r *remote) Delete(ctx context.Context, key string) error {
	_, err := r.client.Delete(ctx, key)
	return plain(err)
}

// ErrConflict reports that a record was changed since it was read.
var ErrConflict = errors.New("changed by somebody else at the same time")

// recordsPage is the number of records of a page: 256 blocks of Calico have about a MiB, and an answer at
// most maxAnswer.
const recordsPage = 256

// Keyspace is the data of an etcd cluster, reached through a member that serves.
type Keyspace struct {
	open  Opener
	hosts []Host
	wait  time.Duration // for a member that serves; 0: one attempt
}

// OpenKeyspace returns the data of the etcd cluster with a name. wait is the maximum time for which each
// call retries while no member serves; 0 stands for one attempt.
func OpenKeyspace(ctx context.Context, actx engine.ActionContext, name string, wait time.Duration) (*Keyspace, error) {
	open, hosts, err := Target{Cluster: name}.remaining(ctx, actx)
	if err != nil {
		return nil, err
	}
	return NewKeyspace(open, hosts, wait), nil
}

// NewKeyspace returns the data of the etcd cluster whose members are on hosts; wait as for [OpenKeyspace].
func NewKeyspace(open Opener, hosts []Host, wait time.Duration) *Keyspace {
	return &Keyspace{open, hosts, wait}
}

// with calls do with a member that serves, again when the member fails in passing.
func (k *Keyspace) with(ctx context.Context, do func(context.Context, Member) error) error {
	if k.wait == 0 {
		_, err := k.attempt(ctx, do)
		return err
	}
	return poll.Until(ctx, k.wait, 250*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		again, err := k.attempt(ctx, do)
		if again {
			err = poll.Later(err)
		}
		return "", err == nil, err
	})
}

// attempt calls do with a member that serves. It reports whether another attempt may succeed.
func (k *Keyspace) attempt(ctx context.Context, do func(context.Context, Member) error) (again bool, err error) {
	member, err := Take(ctx, k.open, k.hosts).serving(k.open, k.hosts)
	if err != nil {
		return true, err
	}
	defer func() { _ = member.Close() }()
	ctx, cancel := context.WithTimeout(ctx, valuesTimeout)
	defer cancel()
	err = do(ctx, member)
	return err != nil && passing(err), err
}

// Get returns the record of a key; ok is false when there is none.
func (k *Keyspace) Get(ctx context.Context, key string) (found Record, ok bool, err error) {
	err = k.with(ctx, func(ctx context.Context, m Member) error {
		records, err := m.List(ctx, key, 1)
		ok = len(records) > 0 && records[0].Key == key
		if ok {
			found = records[0]
		}
		return err
	})
	return found, ok, err
}

// List returns the records whose keys begin with a prefix. It reads pages, so a record that is written
// meanwhile is as before or after.
func (k *Keyspace) List(ctx context.Context, prefix string) ([]Record, error) {
	var out []Record
	for from := prefix; ; {
		var page []Record
		if err := k.with(ctx, func(ctx context.Context, m Member) (err error) {
			page, err = m.List(ctx, from, recordsPage)
			return err
		}); err != nil {
			return nil, err
		}
		for _, r := range page {
			if !strings.HasPrefix(r.Key, prefix) {
				return out, nil
			}
			out = append(out, r)
		}
		if len(page) < recordsPage {
			return out, nil
		}
		from = page[len(page)-1].Key + "\x00"
	}
}

// Write writes a record. It fails with [ErrConflict] when the key has another revision than the record.
func (k *Keyspace) Write(ctx context.Context, r Record) error {
	return k.with(ctx, func(ctx context.Context, m Member) error {
		written, err := m.Write(ctx, r)
		if err == nil && !written {
			return fmt.Errorf("%s was %w: run the command again", r.Key, ErrConflict)
		}
		return err
	})
}

// Delete removes a key.
func (k *Keyspace) Delete(ctx context.Context, key string) error {
	return k.with(ctx, func(ctx context.Context, m Member) error { return m.Delete(ctx, key) })
}
