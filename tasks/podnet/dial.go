// Package podnet connects to addresses from the network namespace of a pod, as a program of that
// pod would: through the interface of the pod, and the routes and the rules for forwarded packets
// of the host. It starts no process in the pod and changes nothing of it.
package podnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// dial connects like net.Dialer from the network namespace of a file such as /proc/PID/ns/net; an
// empty name is the namespace of this process. The address is an IP address with a port: a name
// would be resolved outside of the namespace.
func dial(ctx context.Context, namespace, network, address string) (net.Conn, error) {
	var d net.Dialer
	if namespace == "" {
		return d.DialContext(ctx, network, address)
	}
	file, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var conn net.Conn
	onOwnThread(func() {
		if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("entering the network namespace %s: %w", namespace, err)
			return
		}
		conn, err = d.DialContext(ctx, network, address)
	})
	return conn, err
}

// onOwnThread calls f on a thread that ends with it, so that nothing else runs in a namespace that
// f has entered.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // a thread that is not unlocked ends with its goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		onOwnThread(f) // on another one: this is the main thread, which never ends
		runtime.UnlockOSThread()
	}()
	<-done
}
