package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// DNSSpec is the `cluster.dns:` section.
type DNSSpec struct {
	Domain        string              `yaml:"domain" default:"cluster.local" doc:"Domain of the cluster. A cluster in use changes it only with former_domains."`
	FormerDomains []string            `yaml:"former_domains" doc:"Domains that the cluster had before: their names are still answered, and tokens of service accounts that were issued under them are still accepted. Take one out when no pod is left that was started under it."`
	Replicas      int                 `yaml:"replicas" doc:"Number of CoreDNS pods; default by size."`
	CacheTTL      time.Duration       `yaml:"cache_ttl" default:"30s" doc:"Maximum time for which an answer is cached."`
	CacheSize     int                 `yaml:"cache_size" doc:"Number of cached answers, for successes and for denials each; default by size."`
	MaxConcurrent int                 `yaml:"max_concurrent" doc:"Queries forwarded at the same time by each CoreDNS pod; default by size."`
	Upstreams     []string            `yaml:"upstreams" doc:"Servers for names outside of the cluster, at most 15; default: those of the node's /etc/resolv.conf."`
	StubDomains   map[string][]string `yaml:"stub_domains" doc:"Domains with DNS servers of their own, as in corp.example: [10.0.0.53, 10.0.1.53:5353]. A domain in another one comes first."`
	Hosts         map[string][]string `yaml:"hosts" doc:"Names with fixed addresses, as in registry.corp.example: [10.0.0.5]. They come before stub domains and the names of Services."`
	Rewrites      []DNSRewrite        `yaml:"rewrites" doc:"Names that are answered with the records of others. The first that matches counts."`
	ExtraPlugins  string              `yaml:"extra_plugins" doc:"Lines of a Corefile that are added to the server of all names. Text of CoreDNS: one pod starts with it before the others get it."`
	ExtraServers  string              `yaml:"extra_servers" doc:"Further servers of the Corefile, each as in corp.example:53 { ... }. One pod starts with them before the others get them."`
	CPURequest    int                 `yaml:"cpu_request_millicores" default:"100" doc:"CPU request of each CoreDNS pod in thousandths of a core."`
	CPULimit      int                 `yaml:"cpu_limit_millicores" doc:"CPU limit of each CoreDNS pod in thousandths of a core; default: none, because queries of a pod that is throttled time out."`
	MemoryRequest int                 `yaml:"memory_request_mib" doc:"Memory request of each CoreDNS pod in MiB; default by size."`
	MemoryLimit   int                 `yaml:"memory_limit_mib" doc:"Memory limit of each CoreDNS pod in MiB; default by size."`
	NodeLocal     NodeLocalDNSSpec    `yaml:"node_local" doc:"DNS cache on every node."`
}

// The ways in which a rewrite matches names, those of CoreDNS (coredns.io/plugins/rewrite).
const (
	rewriteExact     = "exact"
	rewriteSuffix    = "suffix"
	rewritePrefix    = "prefix"
	rewriteSubstring = "substring"
	rewriteRegex     = "regex"
)

// DNSRewrite is one of `cluster.dns.rewrites:`.
type DNSRewrite struct {
	Match string `yaml:"match" enum:"exact,suffix,prefix,substring,regex" default:"exact" doc:"Part of the name that from must be." json:"match"`
	From  string `yaml:"from" required:"true" doc:"Name, part of a name or regular expression, such as api.example.com, or .example.com for a suffix." json:"from"`
	To    string `yaml:"to" required:"true" doc:"Replacement of that part; {1} is the first group of a regular expression." json:"to"`
}

// DNS is the DNS server inside the cluster.
type DNS struct {
	Domain           string       `json:"domain"`                 // domain of the names of Services
	FormerDomains    []string     `json:"former_domains"`         // domains that the cluster had before, whose names are still answered and whose tokens are accepted
	IP               string       `json:"ip"`                     // address of the Service kube-dns
	IPs              []string     `json:"ips"`                    // addresses of the Service kube-dns, one for each family
	Replicas         int          `json:"replicas"`               // number of CoreDNS pods
	CacheSeconds     int          `json:"cache_seconds"`          // maximum time in seconds for which an answer is cached
	CacheSize        int          `json:"cache_size"`             // number of cached answers, for successes and for denials each
	MaxConcurrent    int          `json:"max_concurrent"`         // maximum number of queries that one pod forwards at the same time
	CPURequest       int          `json:"cpu_request_millicores"` // CPU request of each pod, in thousandths of a core
	CPULimit         int          `json:"cpu_limit_millicores"`   // CPU limit of each pod, in thousandths of a core; 0: none
	MemoryRequestMiB int          `json:"memory_request_mib"`     // memory request of each pod, in MiB
	MemoryLimitMiB   int          `json:"memory_limit_mib"`       // memory limit of each pod, in MiB
	Upstreams        []string     `json:"upstreams"`              // addresses of the servers for other domains; empty: those of the node's /etc/resolv.conf
	StubDomains      []StubDomain `json:"stub_domains"`           // domains with servers of their own; one in another one comes first
	Hosts            []DNSHost    `json:"hosts"`                  // names with fixed addresses
	Rewrites         []DNSRewrite `json:"rewrites"`               // names that are answered with the records of others
	ExtraPlugins     string       `json:"extra_plugins"`          // further lines of the Corefile for the server of all names
	ExtraServers     string       `json:"extra_servers"`          // further servers of the Corefile
	NodeLocal        NodeLocalDNS `json:"node_local"`             // DNS cache on every node
	SpreadZones      bool         `json:"spread_zones"`           // true when pods are spread over zones, too: all nodes that take pods have a zone
}

// StubDomain is a domain with DNS servers of its own.
type StubDomain struct {
	Domain  string   `json:"domain"`  // domain, such as corp.example
	Servers []string `json:"servers"` // addresses of its servers
}

// DNSHost is a line of a hosts file.
type DNSHost struct {
	Address string   `json:"address"` // IP address
	Names   []string `json:"names"`   // names with this address, sorted
}

// domains returns the domain of the cluster and those that it had before.
func (d DNS) domains() []string { return append([]string{d.Domain}, d.FormerDomains...) }

func (d DNSSpec) withDefaults() DNSSpec {
	d.Domain = cmp.Or(d.Domain, "cluster.local")
	// 30 s is what kubeadm's Corefile caches, and 100 what its pods request.
	d.CacheTTL = cmp.Or(d.CacheTTL, 30*time.Second)
	d.CPURequest = cmp.Or(d.CPURequest, 100)
	d.Rewrites = slices.Clone(d.Rewrites)
	for i := range d.Rewrites {
		d.Rewrites[i].Match = cmp.Or(d.Rewrites[i].Match, rewriteExact)
	}
	// The memory limit of cluster DNS in kubeadm's manifest.
	d.NodeLocal.MemoryLimit = cmp.Or(d.NodeLocal.MemoryLimit, 170)
	return d
}

// zoneLabel is the label of a node with its zone (kubernetes.io/docs/reference/labels-annotations-taints).
const zoneLabel = "topology.kubernetes.io/zone"

// dns resolves the DNS section against the size profile. A request that the inventory does not name is
// at most the limit that it names.
func (r *resolver) dns(p SizeProfile, ips []string) DNS {
	spec := r.spec.DNS
	memory := cmp.Or(spec.MemoryLimit, max(p.DNSMemoryLimitMiB, spec.MemoryRequest))
	cpu := spec.CPURequest
	if spec.CPULimit > 0 {
		cpu = min(cpu, spec.CPULimit)
	}
	return DNS{
		Domain:           spec.Domain,
		FormerDomains:    append([]string{}, spec.FormerDomains...),
		IP:               ips[0],
		IPs:              ips,
		Replicas:         cmp.Or(spec.Replicas, p.DNSReplicas),
		CacheSeconds:     int(spec.CacheTTL.Seconds()),
		CacheSize:        cmp.Or(spec.CacheSize, p.DNSCacheSize),
		MaxConcurrent:    cmp.Or(spec.MaxConcurrent, p.DNSMaxConcurrent),
		CPURequest:       cpu,
		CPULimit:         spec.CPULimit,
		MemoryRequestMiB: cmp.Or(spec.MemoryRequest, min(p.DNSMemoryRequestMiB, memory)),
		MemoryLimitMiB:   memory,
		Upstreams:        append([]string{}, spec.Upstreams...),
		StubDomains:      stubDomains(spec.StubDomains),
		Hosts:            dnsHosts(spec.Hosts),
		Rewrites:         append([]DNSRewrite{}, spec.Rewrites...),
		ExtraPlugins:     strings.TrimSpace(spec.ExtraPlugins),
		ExtraServers:     strings.TrimSpace(spec.ExtraServers),
		NodeLocal:        spec.NodeLocal.resolve(r.spec.families()[0]),
		SpreadZones:      r.zonesKnown(),
	}
}

// stubDomains returns the domains with most labels first: CoreDNS asks the servers of the first one
// that holds a name (coredns.io/plugins/forward).
func stubDomains(servers map[string][]string) []StubDomain {
	out := []StubDomain{}
	for _, domain := range slices.Sorted(maps.Keys(servers)) {
		out = append(out, StubDomain{Domain: domain, Servers: orEmpty(servers[domain])})
	}
	slices.SortStableFunc(out, func(a, b StubDomain) int {
		return cmp.Compare(strings.Count(b.Domain, "."), strings.Count(a.Domain, "."))
	})
	return out
}

// dnsHosts returns a line for each address, in the order of the addresses.
func dnsHosts(addresses map[string][]string) []DNSHost {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		for _, a := range addresses[name] {
			names[a] = append(names[a], name)
		}
	}
	out := []DNSHost{}
	for _, a := range slices.Sorted(maps.Keys(names)) {
		out = append(out, DNSHost{Address: a, Names: names[a]})
	}
	return out
}

// zonesKnown reports whether all nodes that take ordinary pods have a zone, and not all the same one.
// The scheduler gives no node without a zone a score for spreading (kubernetes
// pkg/scheduler/framework/plugins/podtopologyspread/scoring.go).
func (r *resolver) zonesKnown() bool {
	zones := map[string]bool{}
	for _, h := range r.hosts {
		if !h.isNode() || r.place.taintsMaster(h) {
			continue
		}
		zone := h.Labels[zoneLabel]
		if zone == "" {
			return false
		}
		zones[zone] = true
	}
	return len(zones) > 1
}

// maxDNSReplicas is the number of pods of cluster DNS from which on more nodes add none.
//
// A pod answers 33 000 queries a second with two cores (coredns/deployment, Scaling_CoreDNS.md), so
// that a thousand nodes with 100 queries a second each need six cores in all; Kubernetes' own tests
// wanted 7 pods above 500 nodes (kubernetes#27781). Each pod watches all Services and endpoints: 63
// pods, the linear rule at 1000 nodes, would receive each change 63 times, and hold it in 11 GiB.
const maxDNSReplicas = 32

// dnsReplicas is one pod for 16 nodes, the default of the DNS autoscaler
// (cluster/addons/dns-horizontal-autoscaler), at least two and at most maxDNSReplicas; one when
// there is only one node to run on.
func dnsReplicas(nodes int) int {
	if nodes <= 1 {
		return 1
	}
	return min(max(2, (nodes+15)/16), maxDNSReplicas)
}

// dnsMemory is the request and the limit of a CoreDNS pod in MiB. CoreDNS holds
// every Service and Pod that it answers for: (pods + services) / 1000 + 54 MB
// with its default settings (coredns/deployment, Scaling_CoreDNS.md). Pods are
// counted as if every node were full, up to the 150000 that Kubernetes is built
// for, and services as a tenth of them. The limit leaves half as much again for
// the moment of a full resync; 70 and 170 are kubeadm's figures and the floor. The floor of the limit
// above 500 nodes, 512, is the figure of Mirantis' test with 1000 nodes.
func dnsMemory(size string, nodes, maxPods int) (request, limit int) {
	pods := min(nodes*maxPods, 150000)
	need := (pods+pods/10)/1000 + 54
	floor := 170
	if size == SizeXLarge {
		floor = 512
	}
	return max(70, need), max(floor, need+need/2)
}
