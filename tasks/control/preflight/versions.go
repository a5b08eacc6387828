package preflight

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/report"
)

// Commands are the command lines that reports recommend.
type Commands struct {
	Upgrade string // upgrades the cluster of the run
	ScaleUp string // adds the hosts whose names follow to the cluster; without names, all missing hosts
}

// Join returns the recommendation for hosts that are not in the cluster; empty when ScaleUp
// is empty.
func (c Commands) Join(hosts ...string) string {
	switch {
	case c.ScaleUp == "":
		return ""
	case len(hosts) > maxNamed:
		return "run: " + c.ScaleUp
	}
	return "run: " + strings.Join(append([]string{c.ScaleUp}, hosts...), " ")
}

// versions returns the rows of components whose version must not change in this run. In a
// cluster without an API server no version is in use, unless InUse says otherwise; then the
// rows advise to write the versions in use into the inventory, because such a cluster cannot
// be upgraded before.
func (r *Report) versions(actx engine.ActionContext) []report.Row {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || r.Versions == "" {
		return nil
	}
	hosts := actx.Targets()
	found := FoundVersions(actx, r.Versions)
	served := slices.ContainsFunc(found, func(f cluster.Running) bool { return f.Component == "kube-apiserver" })
	if !served && !r.InUse {
		return nil
	}
	wanted := slices.DeleteFunc(c.Wanted(), func(w cluster.Running) bool { return !slices.Contains(hosts, w.Host) })
	if r.Upgrade {
		rows := missingImages(actx, r.Versions, wanted)
		if len(rows) > 0 {
			return rows
		}
		return versionRows(actx, append(cluster.NotJoined(found, wanted), cluster.CheckUpgrade(found, wanted, r.Only...)...))
	}
	problems := cluster.RefuseChanges(found, wanted)
	for _, host := range hosts {
		problems = append(problems, cluster.RefusePolicies(host, FoundPolicies(actx, host, r.Versions), c.Nodes[host])...)
	}
	rows := versionRows(actx, problems)
	if r.InUse {
		for i := range rows {
			rows[i] = rows[i].Advised(keepAdvice)
		}
	}
	return rows
}

// keepAdvice is the advice for versions that a restore would change.
const keepAdvice = "write the version in use into the inventory until this command has ended, as cluster.kubernetes or in overrides of the host; then upgrade"

// missingImages returns a row for each manifest whose image the host does not have,
// and does not get by this upgrade: another user changed the manifest.
func missingImages(actx engine.ActionContext, name string, wanted []cluster.Running) []report.Row {
	var rows []report.Row
	for _, w := range wanted {
		missing, _ := actionctx.Registered(actx, w.Host, name)["missing_images"].(map[string]any)
		image, _ := missing[w.Component].(string)
		if image != "" && !strings.HasSuffix(image, ":"+w.Version) {
			rows = append(rows, report.Bad("versions", w.Host, "the manifest of %s names the image %s, which the host does not have", w.Component, image).
				Advised("repair the cluster with the version that it has (deployer apply), then upgrade"))
		}
	}
	return rows
}

// FoundVersions returns the components that the hosts of the run registered under a name.
func FoundVersions(actx engine.ActionContext, name string) []cluster.Running {
	var out []cluster.Running
	for _, host := range actx.Targets() {
		versions, _ := actionctx.Registered(actx, host, name)["versions"].(map[string]any)
		for program, version := range versions {
			text, _ := version.(string)
			out = append(out, cluster.Running{Host: host, Component: program, Version: text})
		}
	}
	slices.SortFunc(out, func(a, b cluster.Running) int {
		return strings.Compare(a.Host+" "+a.Component, b.Host+" "+b.Component)
	})
	return out
}

// FoundPolicies returns the resource managers' policies that a host registered under a
// name; nil for a host without a kubelet.
func FoundPolicies(actx engine.ActionContext, host, name string) map[string]string {
	out := actionctx.Registered(actx, host, name)
	if versions, _ := out["versions"].(map[string]any); versions["kubelet"] == nil {
		return nil
	}
	policies := map[string]string{}
	all, _ := out["policies"].(map[string]any)
	for key, value := range all {
		policies[key] = fmt.Sprint(value)
	}
	return policies
}

// KeptVersions returns a row for each version of installed that differs from the one in
// use, as hosts registered it under a name: a verb that is no upgrade must not change it as
// a side effect. The rows advise to write the versions in use into the inventory, or to
// upgrade first.
func KeptVersions(actx engine.ActionContext, name string, installed []cluster.Running) []report.Row {
	commands, _ := engine.Service[Commands](actx.Services())
	rows := versionRows(actx, cluster.RefuseChanges(FoundVersions(actx, name), installed))
	for i, row := range rows {
		if row.Fix != "" {
			rows[i] = row.Advised("run first: " + commands.Upgrade + "; where that is not possible yet, write the version in use into the inventory until this command has ended, as cluster.kubernetes or in overrides of the host")
		}
	}
	return rows
}

// maxNamed is the maximum number of further hosts that a row names.
const maxNamed = 8

// versionRows returns a row for each problem, which names all hosts that have it.
func versionRows(actx engine.ActionContext, problems cluster.Problems) []report.Row {
	commands, _ := engine.Service[Commands](actx.Services())
	var rows []report.Row
	for _, p := range problems {
		text := p.Message
		if len(p.More) > 0 {
			text += " (also on " + shortlist.Names(p.More, maxNamed) + ")"
		}
		row := report.Bad("versions", p.Subject, "%s", text)
		if p.Code == cluster.CodeUpgrade && commands.Upgrade != "" {
			row = row.Advised("run: " + commands.Upgrade)
		}
		if p.Code == cluster.CodeJoin {
			row = row.Advised(commands.Join(append([]string{p.Subject}, p.More...)...))
		}
		rows = append(rows, row)
	}
	return rows
}
