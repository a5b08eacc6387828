package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"deployer/engine"
	"deployer/tasks/poll"
)

// Pair is a key of etcd with its value.
type Pair struct {
	Key   string
	Value []byte
}

func (r *remote) Range(ctx context.Context, from string, limit int64) ([]Pair, error) {
	resp, err := r.client.Get(ctx, from, clientv3.WithFromKey(), clientv3.WithLimit(limit))
	if err != nil {
		return nil, plain(err)
	}
	var out []Pair
	for _, kv := range resp.Kvs {
		out = append(out, Pair{string(kv.Key), kv.Value})
	}
	return out, nil
}

// Bounds of EachValue. An answer has at most maxAnswer bytes, and a value at most 1.5 MiB
// (etcd's --max-request-bytes), so a page of one value always fits.
const (
	valuesPage    = 256              // keys of the largest page
	valuesTimeout = 10 * time.Second // for one page
	valuesRetry   = time.Minute      // for a page that no member answers
)

// EachValue calls visit for every key of etcd and its value, in the order of the keys. EachValue
// reads pages, each linearizably: a value that is written meanwhile is visited as it was
// before or after. The value is valid during the call only.
func EachValue(ctx context.Context, actx engine.ActionContext, visit func(key string, value []byte)) error {
	open, hosts, err := Target{}.remaining(ctx, actx)
	if err != nil {
		return err
	}
	r := valueReader{open: open, hosts: hosts, limit: valuesPage}
	defer r.close()
	for from := "\x00"; ; {
		pairs, err := r.page(ctx, from)
		if err != nil {
			return fmt.Errorf("reading the values of etcd: %w", err)
		}
		if len(pairs) == 0 {
			return nil
		}
		for _, p := range pairs {
			visit(p.Key, p.Value)
		}
		from = pairs[len(pairs)-1].Key + "\x00"
	}
}

// valueReader reads pages from a member that serves, and from another one when it fails.
type valueReader struct {
	open   Opener
	hosts  []Host
	member Member // nil: none is open
	limit  int64
}

func (r *valueReader) close() {
	if r.member != nil {
		_ = r.member.Close()
		r.member = nil
	}
}

// page reads the page that begins with a key. Pages become smaller when an answer exceeds
// the client's bound, and grow again.
func (r *valueReader) page(ctx context.Context, from string) (pairs []Pair, err error) {
	err = poll.Until(ctx, valuesRetry, 100*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		if r.member == nil {
			if r.member, err = Take(ctx, r.open, r.hosts).serving(r.open, r.hosts); err != nil {
				return "", false, poll.Later(err)
			}
		}
		for {
			limited, cancel := context.WithTimeout(ctx, valuesTimeout)
			pairs, err = r.member.Range(limited, from, r.limit)
			cancel()
			if !tooLarge(err) || r.limit == 1 {
				break
			}
			r.limit /= 2
		}
		if err != nil {
			r.close()
			return "", false, poll.Later(err)
		}
		r.limit = min(2*r.limit, valuesPage)
		return "", true, nil
	})
	return pairs, err
}

// tooLarge reports an answer that exceeds maxAnswer.
func tooLarge(err error) bool {
	if status.Code(err) == codes.ResourceExhausted {
		return true
	}
	var wrapped *grpcError
	return errors.As(err, &wrapped) && status.Code(wrapped.err) == codes.ResourceExhausted
}
