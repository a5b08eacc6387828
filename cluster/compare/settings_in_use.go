package compare

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/shortlist"
)

// podRanges returns the conflict of pod_cidr with the ranges of nodes, which Kubernetes never
// changes. Without an API the ranges are those in the configurations of the hosts.
func podRanges(want *cluster.Cluster, found InUse) []Conflict {
	var outside []string
	for _, n := range rangesInUse(want, found) {
		for _, text := range cluster.SplitList(n.PodCIDR) {
			if r, err := netip.ParsePrefix(text); want.Nodes[n.Name].IsNode && err == nil && !holds(want.PodCIDRs, r) {
				outside = append(outside, n.Name+" "+text)
			}
		}
	}
	if len(outside) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "pod_cidr",
		Detail:  fmt.Sprintf("pod_cidr is %s, and nodes have ranges outside of it: %s", strings.Join(want.PodCIDRs, ","), shortlist.Names(outside, maxNames)),
		Fix:     "restore pod_cidr, or widen it so that it holds these ranges, too; a node gets another range only when it leaves and joins again (deployer scale-down, then scale-up)",
	}}
}

// holds reports whether one of the ranges holds r.
func holds(ranges []string, r netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && r.Bits() >= p.Bits() && p.Contains(r.Addr())
	})
}

// serviceRange returns the conflict of service_cidr with the range of the API, from which the
// addresses of Services, the names in certificates and the clients' settings come. A range of the
// other family may be added: the API server adds it to the ServiceCIDR (kubernetes
// pkg/controlplane/controller/defaultservicecidr).
func serviceRange(want *cluster.Cluster, found InUse) []Conflict {
	has := ""
	switch s := found.Services; {
	case s != nil && len(s.CIDRs) > 0:
		if len(s.CIDRs) > len(want.ServiceCIDRs) || !slices.Equal(s.CIDRs, want.ServiceCIDRs[:len(s.CIDRs)]) {
			has = "the ServiceCIDR kubernetes of the cluster is " + strings.Join(s.CIDRs, ", ")
		}
	case s != nil && s.IP != "":
		if s.IP != want.ServiceIP {
			has = fmt.Sprintf("the Service kubernetes has the address %s, not the first of that range", s.IP)
		}
	default:
		if others := unanimous(want, found, func(h HostInUse) string { return h.ServiceCIDR }, want.ServiceCIDRs[0], strings.Join(want.ServiceCIDRs, ",")); others != "" {
			has = "the API servers of all masters have " + others
		}
	}
	if has == "" {
		return nil
	}
	return []Conflict{{
		Subject: "service_cidr",
		Detail:  fmt.Sprintf("service_cidr is %s, and %s: Services keep their addresses, so the range of a cluster in use does not change", strings.Join(want.ServiceCIDRs, ","), has),
		Fix:     "restore service_cidr; for more addresses create a further ServiceCIDR object in the cluster (networking.k8s.io/v1), and leave service_cidr as it is",
	}}
}

// domainChange returns the conflict of dns.domain with the domain that pods in use have, in
// the names that they resolve and in the issuer of their tokens. The domains in
// dns.former_domains are served and accepted further.
func domainChange(want *cluster.Cluster, found InUse) []Conflict {
	domain := func(h HostInUse) string {
		switch {
		case h.ServiceCIDR == "": // no API server
			return ""
		case h.IssuerDomain != "":
			return h.IssuerDomain
		}
		return h.Domain
	}
	others := unanimous(want, found, domain, append([]string{want.DNS.Domain}, want.DNS.FormerDomains...)...)
	if others == "" {
		return nil
	}
	return []Conflict{{
		Subject: "dns.domain",
		Detail:  fmt.Sprintf("dns.domain is %s, and the cluster has %s: every token of a service account that was issued before, and every name below %s, would be refused at once", want.DNS.Domain, others, others),
		Fix:     fmt.Sprintf("restore dns.domain, or write dns.former_domains: [%s] beside it, which keeps the former names and tokens valid until you take it out", others),
	}}
}

// Values of [HostInUse.KubeProxy].
const (
	KubeProxyRuns = "runs"
	KubeProxyNone = "none"
)

// kubeProxyChange returns the conflict of kube_proxy.mode with nodes in use that have a kube-proxy
// or none: for a time nobody, or two programs with rules of their own, would forward the traffic of
// Services.
func kubeProxyChange(want *cluster.Cluster, found InUse) []Conflict {
	wanted, detail := KubeProxyRuns, "and the nodes of the cluster have no kube-proxy: it would forward the traffic of Services beside the pod network"
	if want.KubeProxy.Mode == cluster.KubeProxyNone {
		wanted, detail = KubeProxyNone, "and the nodes of the cluster have a kube-proxy: nobody would forward the traffic of Services"
	}
	if unanimous(want, found, func(h HostInUse) string { return h.KubeProxy }, wanted) == "" {
		return nil
	}
	return []Conflict{{
		Subject: "kube_proxy.mode",
		Detail:  fmt.Sprintf("kube_proxy.mode is %s, %s", want.KubeProxy.Mode, detail),
		Fix:     "restore kube_proxy.mode; a cluster with a kube-proxy, or one without, is a new one",
	}}
}

// apiProxyDefault returns the conflict of a proxy.kind that the inventory does not name with what the
// hosts run: a default does not replace the API proxies of a cluster in use, whose node agents lose
// the API for seconds. A kind that is named does, one node first.
func apiProxyDefault(want *cluster.Cluster, found InUse) []Conflict {
	if want.Proxy.KindNamed {
		return nil
	}
	has := unanimous(want, found, func(h HostInUse) string { return h.APIProxy }, want.Proxy.Kind)
	if has == "" {
		return nil
	}
	return []Conflict{{
		Subject: "proxy.kind",
		Detail:  fmt.Sprintf("the inventory does not name proxy.kind, its default is %s, and the cluster runs %s", want.Proxy.Kind, has),
		Fix:     fmt.Sprintf("write proxy: {kind: %s} below cluster to keep it, or kind: %s to change to it, one node first", has, want.Proxy.Kind),
	}}
}

// unanimous returns the value that hosts have, when none of the hosts with a value has a wanted
// one; empty otherwise. While some have a wanted value, a change has begun, and the run may
// complete it or take it back.
func unanimous(want *cluster.Cluster, found InUse, value func(HostInUse) string, wanted ...string) string {
	first := ""
	for _, name := range want.Order {
		v := value(found.Hosts[name])
		if v == "" {
			continue
		}
		if slices.Contains(wanted, v) {
			return ""
		}
		if first == "" {
			first = v
		}
	}
	return first
}
