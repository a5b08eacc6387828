package netns

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Listen listens on a TCP address of a namespace, for a server in the calling
// process. A socket stays in the namespace in which it was created.
func Listen(name, address string) (net.Listener, error) {
	l, err := inside(name, func() (net.Listener, error) { return net.Listen("tcp", address) })
	if err != nil {
		return nil, fmt.Errorf("listening on %s in network namespace %s: %w", address, name, err)
	}
	return l, nil
}

// Dial connects to a numeric address from a namespace. Its errors are those of
// net.Dialer.
func Dial(ctx context.Context, name, network, address string) (net.Conn, error) {
	return inside(name, func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, network, address) })
}

// inside creates a socket in a namespace.
func inside[T io.Closer](name string, open func() (T, error)) (T, error) {
	type result struct {
		socket T
		err    error
	}
	done := make(chan result)
	go func() {
		// The thread is never unlocked, so that it ends with this goroutine and no
		// other goroutine runs in the namespace.
		runtime.LockOSThread()
		var r result
		if r.err = enter(name); r.err == nil {
			r.socket, r.err = open()
		}
		done <- r
	}()
	r := <-done
	return r.socket, r.err
}

func enter(name string) error {
	ns, err := os.Open(Path(name))
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	return unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
}
