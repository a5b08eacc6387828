package verify

import (
	"cmp"
	"context"
	"time"

	"deployer/tasks/control/report"
)

// Options are the settings of [Pods]. Zero values mean the defaults.
type Options struct {
	// Image is the image of the probe, which runs `deployer-agent probe` on port
	// 8080. The image is never pulled and must be on the nodes.
	Image string
	// Nodes is the maximum number of nodes with a pod; default 10. Up to 10 pods,
	// all pairs are tested.
	Nodes int
	// Of are the nodes from which the sample is taken; nil for all. A cluster has nodes that its
	// inventory does not, such as those of masters that were lost before a restore.
	Of []string
	// Include are nodes that have a pod in any case.
	Include []string
	// Joining are nodes that have a pod when they are Ready; one that is not is a problem.
	Joining []string
	// Domain is the DNS domain of the cluster; default cluster.local.
	Domain string
	// ServiceIP is the address of the Service kubernetes.default.
	ServiceIP string
	// Further is the family of the addresses that pods and Services have beside their primary ones,
	// which are tested, too: ipv4 or ipv6; empty for none.
	Further string
	// ServicePort is the port of the Service kubernetes.default; default 443.
	ServicePort int
	// Outside is a DNS name outside of the cluster that pods resolve. When it is
	// empty the check is skipped with NoOutside as its reason.
	Outside   string
	NoOutside string
	// OnNode returns more rows of a node on which a probe pod runs; may be nil. It is called for
	// up to nodeChecks nodes at the same time, while the pods run.
	OnNode func(ctx context.Context, node string) []report.Row
	// Timeout is the maximum duration without the cleanup; default 320 s.
	Timeout time.Duration
	// Progress receives texts about the current work; may be nil.
	Progress func(string)
}

const (
	defaultNodes = 10
	// defaultTimeout has 15 s for the requests to the API besides the waits.
	defaultTimeout = knownTimeout + startTimeout + longestWatchDelay + settleMargin + 15*time.Second
	// probePort is the port of the probe in its pod.
	probePort = 8080
	// nodeChecks is the maximum number of nodes that are checked at the same time.
	nodeChecks = 16
	// targetTimeout is the maximum time of one attempt to reach a target.
	targetTimeout = "3s"
)

func (o Options) withDefaults() Options {
	o.Nodes = cmp.Or(o.Nodes, defaultNodes)
	o.Domain = cmp.Or(o.Domain, "cluster.local")
	o.ServicePort = cmp.Or(o.ServicePort, 443)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.NoOutside = cmp.Or(o.NoOutside, "no name outside of the cluster was given")
	if o.OnNode == nil {
		o.OnNode = func(context.Context, string) []report.Row { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}
