package verify

import (
	"cmp"
	"time"
)

// Options say what test pods do. Zero values mean the defaults.
type Options struct {
	// Image of the probe: `deployer-agent probe`, listening on port 8080. It must
	// be on the nodes already; it is never pulled.
	Image string
	// Nodes is how many nodes get a pod at most; default 10. Below that number
	// all pairs of nodes are tried.
	Nodes int
	// Domain of the cluster; default cluster.local.
	Domain string
	// ServiceIP is the address of the Service kubernetes.default.
	ServiceIP string
	// ServicePort of it; default 443.
	ServicePort int
	// Outside is a name outside of the cluster that pods resolve; empty: that
	// is not tried, and NoOutside says why.
	Outside   string
	NoOutside string
	// Timeout bounds the whole, without the clean-up; default 90 s.
	Timeout time.Duration
	// Progress is told what is being done; may be nil.
	Progress func(string)
}

const (
	defaultNodes   = 10
	defaultTimeout = 90 * time.Second
	// probePort is where the probe listens in its pod.
	probePort = 8080
	// targetTimeout bounds one attempt of a pod to reach something.
	targetTimeout = "3s"
)

func (o Options) withDefaults() Options {
	o.Nodes = cmp.Or(o.Nodes, defaultNodes)
	o.Domain = cmp.Or(o.Domain, "cluster.local")
	o.ServicePort = cmp.Or(o.ServicePort, 443)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.NoOutside = cmp.Or(o.NoOutside, "no name outside of the cluster was given")
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}
