package cluster

import "time"

// The size profiles. With auto the number of nodes decides.
const (
	SizeAuto   = "auto"
	SizeSmall  = "small"  // up to 10 nodes
	SizeMedium = "medium" // up to 100 nodes
	SizeLarge  = "large"  // up to 500 nodes
	SizeXLarge = "xlarge" // more
)

// SizeProfile is the set of values that depend on the size of a cluster. All other
// values keep their component's default on purpose.
type SizeProfile struct {
	Name             string `json:"name"`                           // name of the profile: small, medium, large or xlarge
	Nodes            int    `json:"nodes"`                          // number of masters and minions
	RequestsInflight int    `json:"max_requests_inflight"`          // maximum number of reads in flight in one API server
	MutatingInflight int    `json:"max_mutating_requests_inflight"` // maximum number of writes in flight in one API server
	ControllerQPS    int    `json:"controller_qps"`                 // requests per second of the controller manager to the API
	ControllerBurst  int    `json:"controller_burst"`               // maximum burst of requests of the controller manager
	SchedulerQPS     int    `json:"scheduler_qps"`                  // requests per second of the scheduler to the API
	SchedulerBurst   int    `json:"scheduler_burst"`                // maximum burst of requests of the scheduler
	EtcdQuotaBytes   int64  `json:"etcd_quota_bytes"`               // size of the etcd database in bytes at which etcd refuses writes
	ProxyConnections int    `json:"proxy_worker_connections"`       // maximum number of connections of one API proxy process
	// Time between two requests of an API proxy to /readyz of each API server.
	ProxyCheckInterval  time.Duration `json:"-"`
	DNSReplicas         int           `json:"dns_replicas"`           // number of CoreDNS pods
	DNSMaxConcurrent    int           `json:"dns_max_concurrent"`     // maximum number of queries that one CoreDNS pod forwards at the same time
	DNSCacheSize        int           `json:"dns_cache_size"`         // number of cached answers of one CoreDNS pod, for successes and for denials each
	DNSMemoryRequestMiB int           `json:"dns_memory_request_mib"` // memory request of each CoreDNS pod, in MiB
	DNSMemoryLimitMiB   int           `json:"dns_memory_limit_mib"`   // memory limit of each CoreDNS pod, in MiB
}

const gib = int64(1) << 30

// profileOf returns the profile of a name, or with auto that of the number of
// nodes. The borders are those at which the documentation's table of master
// sizes steps up (kubernetes.io/docs/setup/best-practices/cluster-large, the
// sizes of kube-up: 10, 100, 500 nodes).
//
// maxPods is per node, dnsNodes the number of nodes that take ordinary pods.
func profileOf(name string, nodes, dnsNodes, maxPods int) SizeProfile {
	p := controlProfile(sizeName(name, nodes))
	p.Nodes = nodes
	p.DNSReplicas = dnsReplicas(dnsNodes)
	p.DNSMemoryRequestMiB, p.DNSMemoryLimitMiB = dnsMemory(p.Name, nodes, maxPods)
	return p
}

func sizeName(name string, nodes int) string {
	switch {
	case name != SizeAuto:
		return name
	case nodes <= 10:
		return SizeSmall
	case nodes <= 100:
		return SizeMedium
	case nodes <= 500:
		return SizeLarge
	default:
		return SizeXLarge
	}
}

// controlProfile returns what depends on the profile's name alone.
//
// Requests in flight: the API server's defaults are 400 and 200; kube-up raises
// them to 1500 and 500 above 500 nodes (cluster/gce/gci/
// configure-kubeapiserver.sh). Large takes the middle: the default is per API
// server, and with one of three down two carry 500 nodes.
//
// Queries per second: controller manager defaults to 20 with burst 30,
// scheduler to 50 with 100. A node of 110 pods that dies is 110 evictions and
// as many bindings; at 20 a second that is six seconds for one node and minutes
// for a rack. Kubernetes' own scale tests run both at 100 and above
// (perf-tests, clusterloader2). API priority and fairness protects the others.
//
// etcd: 2 GiB is its default quota, 8 GiB the most that its documentation
// suggests (etcd.io/docs/v3.6/dev-guide/limit). The quota reserves nothing; but
// the whole database is copied to a member that joins, so small stays small.
//
// Proxy: a node holds two to four connections to the API, each costs nginx two;
// 1024 is ample on a node, but an external proxy carries every client. Each check of
// HAProxy is a TLS handshake, so that proxies of many nodes check less often: 1000 nodes
// cost each API server 200 handshakes per second.
//
// DNS: CoreDNS needs about 2 kB for each query that waits upstream
// (coredns.io/plugins/forward, max_concurrent); 1000 is kubeadm's figure. 9984 is
// the capacity of CoreDNS' cache (coredns.io/plugins/cache); xlarge has the figure of
// Mirantis' test with 1000 nodes (docs/decisions/2026-11-28-cluster-dns.md).
func controlProfile(name string) SizeProfile {
	// The controller manager asks about a hundred things while its controllers
	// start. With Kubernetes' own rate of 20 and burst of 30 that takes 3.9 s, with
	// 100 and 200 it takes 0.4 s (measured twice each, v1.36.3), and a cluster that
	// lost its leader waits for it. The burst covers the start; the rate stays.
	small := SizeProfile{
		Name: SizeSmall, RequestsInflight: 400, MutatingInflight: 200,
		ControllerQPS: 20, ControllerBurst: 200, SchedulerQPS: 50, SchedulerBurst: 100,
		EtcdQuotaBytes: 2 * gib, ProxyConnections: 1024, ProxyCheckInterval: 2 * time.Second, DNSMaxConcurrent: 1000, DNSCacheSize: 9984,
	}
	switch name {
	case SizeMedium:
		small.Name, small.EtcdQuotaBytes = SizeMedium, 4*gib
		small.ControllerQPS, small.ControllerBurst = 50, 200
		small.ProxyConnections = 2048
	case SizeLarge:
		small.Name, small.EtcdQuotaBytes = SizeLarge, 8*gib
		small.RequestsInflight, small.MutatingInflight = 800, 400
		small.ControllerQPS, small.ControllerBurst = 100, 200
		small.SchedulerQPS, small.SchedulerBurst = 100, 200
		small.ProxyConnections, small.DNSMaxConcurrent = 8192, 2000
		small.ProxyCheckInterval = 3 * time.Second
	case SizeXLarge:
		small.Name, small.EtcdQuotaBytes = SizeXLarge, 8*gib
		small.RequestsInflight, small.MutatingInflight = 1500, 500
		small.ControllerQPS, small.ControllerBurst = 200, 400
		small.SchedulerQPS, small.SchedulerBurst = 200, 400
		small.ProxyConnections, small.DNSMaxConcurrent, small.DNSCacheSize = 16384, 4000, 10000
		small.ProxyCheckInterval = 5 * time.Second
	}
	return small
}
