package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch follows the routes of BIRD in the kernels of all nodes. The kernel reports each change, so that the
// wait costs no processor time that BIRD needs.
type watch struct {
	mu      sync.Mutex
	routes  []map[string]bool // of each node: the prefixes, by their bytes
	changed time.Time         // time of the last change
	notify  chan struct{}
	files   []*os.File
	readers sync.WaitGroup
	err     error
}

// protocolBIRD is the number of BIRD's routes (rtnetlink(7), RTPROT_BIRD).
const protocolBIRD = 12

// receiveBuffer is the size of a socket's buffer, in bytes: each report takes about 1 KiB of it.
const receiveBuffer = 8 << 20

// newWatch starts to watch namespaces; close ends it.
func newWatch(namespaces []string) (*watch, error) {
	w := &watch{notify: make(chan struct{}, 1)}
	for i, ns := range namespaces {
		f, err := routeReports(ns)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("watching the routes of namespace %s: %w", ns, err)
		}
		w.files, w.routes = append(w.files, f), append(w.routes, map[string]bool{})
		w.readers.Go(func() { w.read(i, f) })
	}
	return w, nil
}

func (w *watch) close() {
	for _, f := range w.files {
		_ = f.Close()
	}
	w.readers.Wait()
}

// routeReports returns a socket that receives the changes of the IPv4 routes of a namespace.
func routeReports(ns string) (*os.File, error) {
	file, err := os.Open(filepath.Join(namespaceDir, ns))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	type result struct {
		fd  int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // a thread that is not unlocked ends with its goroutine
		if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{-1, err}
			return
		}
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
		if err == nil {
			err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer),
				unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_IPV4_ROUTE}))
		}
		done <- result{fd, err}
	}()
	r := <-done
	if r.err != nil {
		return nil, r.err
	}
	return os.NewFile(uintptr(r.fd), "routes of "+ns), nil
}

// read follows the routes of one node.
func (w *watch) read(node int, f *os.File) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := f.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		w.mu.Lock()
		if err != nil {
			w.err = err // ENOBUFS: reports were lost
		} else {
			w.apply(node, buffer[:n])
		}
		w.mu.Unlock()
		select {
		case w.notify <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// apply changes the routes of a node by messages of the kernel.
func (w *watch) apply(node int, data []byte) {
	messages, err := syscall.ParseNetlinkMessage(data)
	if err != nil {
		w.err = err
		return
	}
	for _, m := range messages {
		to, ok := birdRoute(m)
		if !ok {
			continue
		}
		w.changed = time.Now()
		if m.Header.Type == unix.RTM_NEWROUTE {
			w.routes[node][to] = true
		} else {
			delete(w.routes[node], to)
		}
	}
}

// birdRoute returns the prefix of a message about a route of BIRD.
func birdRoute(m syscall.NetlinkMessage) (to string, ok bool) {
	if m.Header.Type != unix.RTM_NEWROUTE && m.Header.Type != unix.RTM_DELROUTE || len(m.Data) < unix.SizeofRtMsg || m.Data[5] != protocolBIRD {
		return "", false
	}
	for rest := m.Data[unix.SizeofRtMsg:]; len(rest) >= unix.SizeofRtAttr; {
		size := int(binary.NativeEndian.Uint16(rest))
		if size < unix.SizeofRtAttr || size > len(rest) {
			return "", false
		}
		if binary.NativeEndian.Uint16(rest[2:]) == unix.RTA_DST {
			return string(rest[unix.SizeofRtAttr:size]), true
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return "", false
}

// await waits until each of the first nodes has a number of routes, and returns the time of the last change.
func (w *watch) await(ctx context.Context, nodes, routes int) (time.Time, error) {
	for {
		w.mu.Lock()
		full, fewest, err, changed := 0, -1, w.err, w.changed
		for _, have := range w.routes[:nodes] {
			if len(have) == routes {
				full++
			}
			if fewest < 0 || len(have) < fewest {
				fewest = len(have)
			}
		}
		w.mu.Unlock()
		switch {
		case err != nil:
			return changed, fmt.Errorf("watching routes: %w", err)
		case full == nodes:
			return changed, nil
		}
		select {
		case <-ctx.Done():
			return changed, fmt.Errorf("%d of %d nodes have all %d routes, one has %d: %w", full, nodes, routes, fewest, context.Cause(ctx))
		case <-w.notify:
		}
	}
}
