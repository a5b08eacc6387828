package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"deployer/test/lab/command"
	"deployer/test/lab/lab"
)

// readyLimit bounds the wait for nodes once the work is done: it is over in
// seconds, or never.
const readyLimit = 3 * time.Minute

// waitReady returns when the API server says of every host of the lab that its
// node is Ready. kubectl watches, so nothing is polled once the nodes are there.
func waitReady(ctx context.Context, l *lab.Lab) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyLimit, fmt.Errorf("not all nodes were Ready within %s", readyLimit))
	defer cancel()
	var nodes []string
	for _, h := range l.Hosts {
		nodes = append(nodes, "node/"+h.Name)
	}
	wait := kubectl("wait --for=condition=Ready --timeout=60s " + strings.Join(nodes, " "))
	for {
		_, err := l.SSH(ctx, l.Hosts[0].Name, wait)
		if err == nil {
			return nil
		}
		select { // a node that has not registered yet ends kubectl at once
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// lastReady is when the last node became Ready, by the nodes' own conditions,
// which count in seconds. Hosts of a lab have the machine's clock.
func lastReady(ctx context.Context, l *lab.Lab) (last time.Time, err error) {
	out, err := l.SSH(ctx, l.Hosts[0].Name, kubectl(`get nodes -o jsonpath='{.items[*].status.conditions[?(@.type=="Ready")].lastTransitionTime}'`))
	if err != nil {
		return last, err
	}
	for _, word := range strings.Fields(out) {
		t, err := time.Parse(time.RFC3339, word)
		if err != nil {
			return last, fmt.Errorf("when the nodes became Ready: %w", err)
		}
		if t.After(last) {
			last = t
		}
	}
	return last, nil
}

// outcome is for people to see what was made, and at which price.
func outcome(ctx context.Context, l *lab.Lab) ([]string, error) {
	lines, err := programsBusy(ctx, l)
	if err != nil {
		return nil, err
	}
	out, err := l.SSH(ctx, l.Hosts[0].Name, kubectl("get nodes"))
	return append(lines, strings.Split(out, "\n")...), err
}

func kubectl(args string) string { return "kubectl --kubeconfig /etc/kubernetes/admin.conf " + args }

// send runs a shell line on a host with the file as its standard input.
func send(ctx context.Context, l *lab.Lab, host, line, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return feed(ctx, l, host, line, file)
}

// feed runs a shell line on a host with in as its standard input.
func feed(ctx context.Context, l *lab.Lab, host, line string, in io.Reader) error {
	_, err := command.Input(ctx, in, l.Enter(l.SSHArgs(host, line)...)...)
	return err
}
