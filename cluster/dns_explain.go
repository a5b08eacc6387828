package cluster

import (
	"fmt"
	"strconv"
)

// explainDNS explains the settings of cluster DNS.
func (c *Cluster) explainDNS() []Explanation {
	const (
		scaling = "github.com/coredns/deployment, Scaling_CoreDNS.md: (pods + services) / 1000 + 54 MB"
		paper   = "docs/decisions/2026-11-28-cluster-dns.md"
	)
	d, s := c.DNS, c.Size
	spread, why := "hosts", "zones come in when all nodes that take pods have the label "+zoneLabel
	if d.SpreadZones {
		spread, why = "zones, hosts", "a zone or a host that fails takes as few of the pods as possible"
	}
	return []Explanation{
		Explanation{
			Setting: "dns.replicas", Value: strconv.Itoa(d.Replicas), Default: "2", Override: "cluster.dns.replicas",
			Reason: fmt.Sprintf("one pod for 16 nodes that take pods, two at least and %d at most; one on a single node", maxDNSReplicas),
			Source: "cluster/addons/dns-horizontal-autoscaler of Kubernetes; the maximum: " + paper,
		}.bySize(strconv.Itoa(s.DNSReplicas)),
		Explanation{
			Setting: "dns.max_concurrent", Value: strconv.Itoa(d.MaxConcurrent), Default: "1000", Override: "cluster.dns.max_concurrent",
			Reason: "queries that wait upstream, 2 kB each; all nodes ask again at once when an upstream server comes back",
			Source: "coredns.io/plugins/forward; 1000 is kubeadm's",
		}.bySize(strconv.Itoa(s.DNSMaxConcurrent)),
		Explanation{
			Setting: "dns.cache_size", Value: strconv.Itoa(d.CacheSize), Default: "9984", Override: "cluster.dns.cache_size",
			Reason: "answers of each kind, about 1.5 kB each; names in use by " + nodesText(s.Nodes),
			Source: "coredns.io/plugins/cache; 10000 at 1000 nodes: " + paper,
		}.bySize(strconv.Itoa(s.DNSCacheSize)),
		{
			Setting: "dns.cpu_request", Value: millicores(d.CPURequest), Default: "100m", Override: "cluster.dns.cpu_request_millicores",
			Reason: "1700 queries a second; a pod may use what its host has left", Source: "kubeadm; " + paper,
		},
		{
			Setting: "dns.cpu_limit", Value: millicores(d.CPULimit), Default: "none", Override: "cluster.dns.cpu_limit_millicores",
			Reason: "a pod that is throttled answers no query for up to 100 ms, and clients ask again", Source: "kubeadm; " + paper,
		},
		Explanation{
			Setting: "dns.memory_request", Value: mebibytes(d.MemoryRequestMiB), Default: "70 MiB", Override: "cluster.dns.memory_request_mib",
			Reason: fmt.Sprintf("every Service and pod of %s, each full", nodesText(s.Nodes)), Source: scaling,
		}.bySize(mebibytes(s.DNSMemoryRequestMiB)),
		Explanation{
			Setting: "dns.memory_limit", Value: mebibytes(d.MemoryLimitMiB), Default: "170 MiB", Override: "cluster.dns.memory_limit_mib",
			Reason: "half more than the request, for the moment of a full resync; 512 MiB at least above 500 nodes", Source: scaling + "; the floor: " + paper,
		}.bySize(mebibytes(s.DNSMemoryLimitMiB)),
		{
			Setting: "dns.spread", Value: spread, Default: "hosts", Override: "hosts.NAME.labels",
			Reason: why, Source: "kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints",
		},
	}
}

// millicores formats a number of thousandths of a core; 0 is none.
func millicores(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%dm", n)
}
