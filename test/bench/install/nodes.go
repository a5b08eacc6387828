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

// readyLimit is the maximum wait for nodes after the work is done. Healthy nodes
// become Ready in seconds.
const readyLimit = 3 * time.Minute

// waitReady returns when the API server reports the node of every host of the lab as
// Ready. It polls until the nodes have registered; from then on kubectl watches them.
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

// lastReady returns the time at which the last node became Ready, from the nodes'
// conditions, with a resolution of one second. Hosts of a lab have the machine's
// clock.
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

// outcome returns lines with the processor time of the hosts' programs and with the
// nodes of the cluster.
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
