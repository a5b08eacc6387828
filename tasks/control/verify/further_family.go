package verify

import (
	"strings"

	"deployer/cluster"
	"deployer/engine/probe"
)

// familyName returns the name of a family in messages.
func familyName(family string) string {
	if family == cluster.FamilyIPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// suffix ends the names of the checks of the second family.
func suffix(family string) string { return ", " + familyName(family) }

// furtherAdvice returns what to do when a check of the second family fails; empty for other checks.
func furtherAdvice(check string) string {
	switch name, _, further := strings.Cut(check, ", "); {
	case further && name == serviceByIP:
		return "kube-proxy of the node writes the rules for Services of both families: look at its log, and whether its pod has started since the cluster has both"
	case further && name == dnsInside:
		return "cluster DNS answers with the addresses of the Service that the API has: look at its pods with kubectl -n kube-system logs -l k8s-app=kube-dns"
	}
	return ""
}

// furtherTargets returns the targets of the second family: pods, the test Service at its address, and by the
// name that cluster DNS answers with this address.
func furtherTargets(others []running, services []string, namespace string, o Options) []*probeResult {
	name := serviceName + "." + namespace + ".svc." + o.Domain
	list := []*probeResult{{check: dnsInside + suffix(o.Further), what: name, target: probe.Target{Kind: "dns", Name: name + ".", Family: o.Further}}}
	for _, service := range services[1:] {
		list = append(list, &probeResult{check: serviceByIP + suffix(o.Further), what: "a test Service at " + service, target: httpTarget(service)})
	}
	for _, other := range others {
		if other.further != "" {
			list = append(list, &probeResult{check: podToPod + suffix(o.Further), node: other.node, what: other.node + " (" + other.further + ")", target: httpTarget(other.further)})
		}
	}
	return list
}
