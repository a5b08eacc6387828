package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/tasks/control/kube"
)

// DefaultFocus selects the conformance tests, as the publisher's runner does
// (kubernetes test/conformance/image/go-runner, defaultFocus).
const DefaultFocus = `\[Conformance\]`

// Options are the options of a run.
type Options struct {
	Client *kube.Client
	// Image is the image with the tests, Probe that of the probe.
	Image, Probe string
	// Node is the name of the node with the pod, which must have both images.
	Node string
	// Focus and Skip are regular expressions of names of tests; an empty Skip skips none.
	Focus, Skip string
	// Parallel is the number of tests that run at the same time. Those that are [Serial] run alone in
	// any case.
	Parallel int
	// Timeout is the maximum time of all tests together.
	Timeout time.Duration
	// Dir is the directory of the controller for the results. It is made when it does not exist.
	Dir string
	// JUnit is a file of the controller for a report with the tests that ran; empty for none.
	JUnit string
	// Reconnect opens the connection to the master again when it is lost; nil: nobody can.
	Reconnect func(context.Context) error
	// Progress is called with the state of the tests, Warn with each test that fails.
	Progress, Warn func(string)
	// times are changed by tests.
	times times
}

// times are the intervals and limits of a run.
type times struct {
	poll      time.Duration // between two looks at the pod
	heartbeat time.Duration // between two marks that the run is alive
	start     time.Duration // maximum time until the tests start
	pull      time.Duration // maximum time for which an image cannot be pulled
	api       time.Duration // maximum time without an answer of the API
	reconnect time.Duration // time without an answer of the API after which the connection may be lost
	contact   time.Duration // maximum time without an answer of the pod, while the API answers
	grace     time.Duration // of the pod, in which interrupted tests remove their objects
	removal   time.Duration // maximum time of the removal of all objects
}

// defaultTimes: an API server that is replaced, or an election of etcd, takes less than a minute; the
// pod's node may reboot. Interrupted tests delete their namespaces within seconds.
func defaultTimes() times {
	return times{
		poll: 2 * time.Second, heartbeat: 15 * time.Second, start: 5 * time.Minute, pull: 2 * time.Minute,
		api: 10 * time.Minute, reconnect: 20 * time.Second, contact: 5 * time.Minute, grace: time.Minute, removal: 3 * time.Minute,
	}
}

// command returns the command of the tests. It is the one of the runner in the image, which does
// not pass SIGTERM on: with ginkgo as the first process, tests that are interrupted clean up. The verbose log
// has a line for each end of a test.
func (o Options) command() []string {
	args := []string{"/usr/local/bin/ginkgo", "-v", "--no-color", "--timeout=" + o.Timeout.String(), "--focus=" + o.Focus, "--skip=" + o.Skip}
	if o.Parallel > 1 {
		args = append(args, fmt.Sprintf("--procs=%d", o.Parallel))
	}
	return slices.Concat(args, []string{
		"/usr/local/bin/e2e.test", "--", "--disable-log-dump", "--repo-root=/kubernetes", "--provider=skeleton", "--kubeconfig=",
		"--report-dir=" + resultsDir,
	})
}
