package netns

import (
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Listen listens on a TCP address of a namespace, for a server in the calling
// process. A socket stays in the namespace in which it was made, whoever uses it.
func Listen(name, address string) (net.Listener, error) {
	type result struct {
		l   net.Listener
		err error
	}
	done := make(chan result)
	go func() {
		// Never unlocked: the thread ends with this goroutine, and nothing else
		// ever runs in the namespace by mistake.
		runtime.LockOSThread()
		l, err := listenInside(name, address)
		done <- result{l, err}
	}()
	r := <-done
	if r.err != nil {
		return nil, fmt.Errorf("listening on %s in network namespace %s: %w", address, name, r.err)
	}
	return r.l, nil
}

func listenInside(name, address string) (net.Listener, error) {
	ns, err := os.Open(Path(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = ns.Close() }()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	return net.Listen("tcp", address)
}
