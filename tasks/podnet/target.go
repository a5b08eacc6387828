package podnet

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"time"
)

// Target is an address and how it answers.
type Target struct {
	Address string // IP address and port
	DNS     bool   // true: a name server over UDP; false: any server over TCP
}

func (t Target) String() string {
	if t.DNS {
		return "name server " + t.Address
	}
	return t.Address
}

// timeout is the maximum time of an attempt. The kernel repeats a lost SYN after 1 s
// (net.ipv4.tcp_syn_linear_timeouts), and a query is repeated as often.
const timeout = 2500 * time.Millisecond

// queryEvery is the interval at which an unanswered query is repeated.
const queryEvery = time.Second

// Reach returns a connection to the target from a network namespace, as in [dial]; the caller closes
// it. Over TCP the target has accepted the connection, a name server has answered a query.
func (t Target) Reach(ctx context.Context, namespace string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	network := "tcp"
	if t.DNS {
		network = "udp"
	}
	conn, err := dial(ctx, namespace, network, t.Address)
	if err == nil && t.DNS {
		if err = query(ctx, conn); err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return conn, nil
}

// query asks a name server for the servers of the root, which each has in its cache, until it
// answers. Every answer counts, also a refusal.
func query(ctx context.Context, conn net.Conn) error {
	id := make([]byte, 2)
	_, _ = rand.Read(id) // never fails
	question := []byte{0, 0, 1 /* recursion desired */, 0, 0, 1 /* one question */, 0, 0, 0, 0, 0, 0, 0 /* the root */, 0, 2 /* NS */, 0, 1 /* IN */}
	copy(question, id)
	answer := make([]byte, 512)
	for ctx.Err() == nil {
		if _, err := conn.Write(question); err != nil {
			return err
		}
		until := time.Now().Add(queryEvery)
		if end, ok := ctx.Deadline(); ok && end.Before(until) {
			until = end
		}
		if err := conn.SetReadDeadline(until); err != nil {
			return err
		}
		n, err := conn.Read(answer)
		var late net.Error
		switch {
		case err == nil && n >= 12 && bytes.Equal(answer[:2], id):
			return nil
		case err != nil && !(errors.As(err, &late) && late.Timeout()):
			return err
		}
	}
	return context.Cause(ctx)
}
