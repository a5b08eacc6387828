package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/shortlist"
	"deployer/tasks/checkresult"
	"deployer/tasks/kernel"
	"deployer/tasks/resolver"
	"deployer/tasks/staticpod"
)

// Names of the checks.
const (
	CheckStaticPods = "static pods"
	CheckRules      = "rules for pods"
	CheckServices   = "rules of Services"
	CheckEgress     = "pod egress"
	CheckManifests  = "files in manifests"
	CheckCNI        = "CNI configuration"
	CheckSettings   = "kernel settings"
	CheckServers    = "name servers of pods"
	CheckRouters    = "routers"
	CheckDNSCache   = "DNS cache"
)

// Rows compares an observation with what is wanted. The rules are pure.
func Rows(want Checks, found Observation) []checkresult.Row {
	var rows []checkresult.Row
	add := func(check string, list []checkresult.Row) {
		for _, r := range list {
			rows = append(rows, r.Named(check))
		}
	}
	if len(want.StaticPods) > 0 {
		add(CheckStaticPods, staticPods(found))
		add(CheckManifests, foreignManifests(want, found))
	}
	if want.Rules {
		add(CheckRules, podRules(found))
	}
	if want.Services != "" {
		add(CheckServices, serviceRules(want, found))
	}
	if found.Egress != nil {
		add(CheckEgress, egress(found))
	}
	if len(want.Routers) > 0 {
		add(CheckRouters, routers(found))
	}
	if want.CNI != "" {
		add(CheckCNI, cniOrder(want, found))
	}
	if len(want.Settings) > 0 {
		add(CheckSettings, kernelSettings(want, found))
	}
	if len(found.CacheUsers) > 0 {
		add(CheckDNSCache, cacheUsers(found))
	}
	switch {
	case found.MissingServersFile != "":
		add(CheckServers, missingServersFile(found))
	case want.Servers && len(found.PodServers) > 0:
		add(CheckServers, podServers(found))
	}
	return rows
}

// podsProblem reports whether a static pod has a problem.
func (o Observation) podsProblem() bool {
	return slices.ContainsFunc(o.Pods, func(p StaticPod) bool { return p.Problem != "" })
}

func staticPods(found Observation) []checkresult.Row {
	var rows []checkresult.Row
	for _, p := range found.Pods {
		if p.Problem != "" {
			rows = append(rows, checkresult.Problem("run deployer install; when it does not help, look at journalctl -u kubelet on the host", "%s", p.Problem))
		}
	}
	if len(rows) == 0 {
		rows = append(rows, checkresult.OK("%d run as their manifests say", len(found.Pods)))
	}
	return rows
}

// foreignManifests reports files that define one of deployer's pods once more: the kubelet runs
// whichever it has read last.
func foreignManifests(want Checks, found Observation) []checkresult.Row {
	var rows []checkresult.Row
	ours := 0
	for _, own := range want.StaticPods {
		if slices.ContainsFunc(found.Manifests, func(m staticpod.ManifestFile) bool { return m.File == own }) {
			ours++
		}
		for _, other := range staticpod.CopiesOf(own, found.Manifests) {
			rows = append(rows, staticpod.CopyProblem(manifestsDir, own, other))
		}
	}
	if len(rows) == 0 {
		rows = append(rows, checkresult.OK("%d of deployer, %d others", ours, len(found.Manifests)-ours))
	}
	return rows
}

func podRules(found Observation) []checkresult.Row {
	if found.RulesError != "" {
		return []checkresult.Row{checkresult.Problem("systemctl restart deployer-pods, or deployer install",
			"%s: pods of this host reach nothing outside of the cluster", found.RulesError)}
	}
	return []checkresult.Row{checkresult.OK("loaded")}
}

// multus is the type of a plugin that is meant to come first and calls ours.
const multus = "multus"

func cniOrder(want Checks, found Observation) []checkresult.Row {
	if len(found.CNI) == 0 || !slices.ContainsFunc(found.CNI, func(f CNIFile) bool { return f.Name == want.CNI }) {
		return []checkresult.Row{checkresult.Problem("run deployer install", "%s/%s does not exist", cniDir, want.CNI)}
	}
	switch first := found.CNI[0]; {
	case first.Name == want.CNI:
		return []checkresult.Row{checkresult.OK("%s comes first", want.CNI)}
	case first.Type == multus:
		return []checkresult.Row{checkresult.OK("%s comes first, and calls the others", first.Name)}
	default:
		return []checkresult.Row{checkresult.Problem(
			fmt.Sprintf("remove it and recreate the pods that have started meanwhile: rm %s/%s", cniDir, first.Name),
			"%s sorts before %s, so new pods of this host get the network of %q and their addresses are not announced", first.Name, want.CNI, first.Type)}
	}
}

// kernelSettings reports wanted settings that another file undoes at the next boot, and those
// that do not hold now.
func kernelSettings(want Checks, found Observation) []checkresult.Row {
	var rows []checkresult.Row
	for _, key := range slices.Sorted(maps.Keys(want.Settings)) {
		value := kernel.Normal(want.Settings[key])
		now, exists := found.Live[key]
		if !exists {
			continue
		}
		last := lastSetting(found.Settings, key)
		switch {
		case last.File != "" && last.Value != value:
			rows = append(rows, checkresult.Problem(
				fmt.Sprintf("remove the line from %s, or set cluster.sysctls in the inventory", last.File),
				"%s sets %s to %q at the next boot, wanted %q (now %q)", last.File, key, last.Value, value, now))
		case now != value:
			rows = append(rows, checkresult.Problem("run deployer install", "%s is %q, wanted %q", key, now, value))
		}
	}
	if len(rows) == 0 {
		rows = append(rows, checkresult.OK("%d hold now and after a boot", len(want.Settings)))
	}
	return rows
}

// lastSetting returns the line that decides about a setting. A key without a pattern wins over
// patterns (sysctl.d(5)).
func lastSetting(all []Setting, key string) Setting {
	var last Setting
	exact := false
	for _, s := range all {
		pattern := strings.ContainsAny(s.Key, "*?[")
		if setsKey(s.Key, key) && (!pattern || !exact) {
			last, exact = s, exact || !pattern
		}
	}
	return last
}

// missingServersFile is a problem of every node, whatever cluster DNS asks: the kubelet reads the
// file for each pod (kubernetes pkg/kubelet/network/dns, getHostDNSConfig).
func missingServersFile(found Observation) []checkresult.Row {
	return []checkresult.Row{checkresult.Problem("run deployer install, which gives the kubelet a file that exists",
		"%s, from which the kubelet takes name servers, does not exist, so new pods of this host stay in ContainerCreating", found.MissingServersFile)}
}

func podServers(found Observation) []checkresult.Row {
	outdated := outdatedPods(found)
	switch {
	case len(found.Servers) > 0 && !resolver.HasReachable(found.Servers):
		return []checkresult.Row{checkresult.Problem("write other name servers into the host's resolv.conf, or set cluster.dns.upstreams",
			"pods get only the name servers %s of the host, which are the pod itself", strings.Join(found.Servers, ", "))}
	case len(outdated) > 0:
		return []checkresult.Row{checkresult.Problem("run deployer install, or: kubectl -n kube-system delete pod "+strings.Join(outdated, " "),
			"%s started with the name servers %s; the host has %s now", strings.Join(outdated, ", "), strings.Join(found.PodServers[outdated[0]], ", "), strings.Join(found.Servers, ", "))}
	}
	return []checkresult.Row{checkresult.OK("as the host's")}
}

// cacheUsers reports the pods for which a DNS cache stays on the host.
func cacheUsers(found Observation) []checkresult.Row {
	return []checkresult.Row{checkresult.Problem("drain the node, or recreate these pods, and run deployer install",
		"the DNS cache of this host stays, because pods have started with it: %s", shortlist.Names(found.CacheUsers, 5))}
}

// outdatedPods returns the pods of cluster DNS that started with other name servers than the host
// has, sorted. A host without a name server outdates none.
func outdatedPods(found Observation) []string {
	out := []string{}
	for _, pod := range slices.Sorted(maps.Keys(found.PodServers)) {
		if len(found.Servers) > 0 && !slices.Equal(found.PodServers[pod], found.Servers) {
			out = append(out, pod)
		}
	}
	return out
}
