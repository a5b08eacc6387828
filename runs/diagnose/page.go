package diagnose

import (
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/runs/diagnose/rules"
)

// mostHosts is the number of hosts whose evidence the page shows for one problem; of the
// others it has the names. findings.json has all.
const mostHosts = 10

// Page returns the first page of the archive in Markdown: the problems, the worst
// first, and the contents of the archive.
func Page(s Site, r *engine.Report, findings []rules.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", s.Name)
	fmt.Fprintf(&b, "Cluster %s, Kubernetes %s, examined on %s by deployer %s.\n\n", code(s.Cluster.Name), code(s.Cluster.Versions.Kubernetes), s.Started.UTC().Format("2006-01-02 15:04 MST"), code(s.Version))
	fmt.Fprintf(&b, "%s.\n\n", Summary(r, findings))
	if r.Interrupted {
		b.WriteString("**The run was interrupted: a part of the outputs is missing.**\n\n")
	}
	severity := rules.Severity(-1)
	for _, group := range groups(findings) {
		f := group[0]
		if f.Severity != severity {
			severity = f.Severity
			fmt.Fprintf(&b, "## %s\n\n", strings.ToUpper(severity.String()[:1])+severity.String()[1:])
		}
		writeGroup(&b, group)
	}
	if len(findings) == 0 {
		b.WriteString("No rule has found anything. That does not prove that all is well: see the logs.\n\n")
	}
	b.WriteString(contents)
	return b.String()
}

// Summary counts hosts and findings in one line.
func Summary(r *engine.Report, findings []rules.Finding) string {
	unreachable := 0
	for _, h := range r.Hosts {
		if h.Unreachable {
			unreachable++
		}
	}
	text := fmt.Sprintf("%d hosts, %d critical, %d warnings, %d notes", len(r.Hosts), rules.Count(findings, rules.Critical), rules.Count(findings, rules.Warning), rules.Count(findings, rules.Info))
	if unreachable > 0 {
		text += fmt.Sprintf("; hosts that could not be examined: %d", unreachable)
	}
	return text
}

// groups returns the findings of equal title and severity together; they are sorted.
func groups(findings []rules.Finding) [][]rules.Finding {
	var out [][]rules.Finding
	for _, f := range findings {
		if n := len(out); n > 0 && out[n-1][0].Title == f.Title && out[n-1][0].Severity == f.Severity {
			out[n-1] = append(out[n-1], f)
			continue
		}
		out = append(out, []rules.Finding{f})
	}
	return out
}

func writeGroup(b *strings.Builder, group []rules.Finding) {
	fmt.Fprintf(b, "### %s\n\n", strings.ToUpper(group[0].Title[:1])+group[0].Title[1:])
	var others []string
	for i, f := range group {
		host := f.Host
		if host == "" {
			host = "cluster"
		}
		if i >= mostHosts {
			others = append(others, host)
			continue
		}
		fmt.Fprintf(b, "- **%s**: %s", host, code(f.Evidence))
		if f.File != "" && f.Host != "" {
			fmt.Fprintf(b, " ([%s](<hosts/%s/%s>))", f.File, f.Host, f.File)
		}
		b.WriteString("\n")
	}
	if len(others) > 0 {
		fmt.Fprintf(b, "- and %d more: %s\n", len(others), strings.Join(others, ", "))
	}
	b.WriteString("\n")
	if group[0].Advice != "" {
		fmt.Fprintf(b, "What to do: %s\n\n", plain(group[0].Advice))
	}
	if group[0].Guide != "" {
		fmt.Fprintf(b, "See docs/%s\n\n", group[0].Guide)
	}
}

// mostEvidence is the number of bytes of evidence that the page shows.
const mostEvidence = 300

// code returns a text of a host as code in one line.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > mostEvidence {
		text = strings.ToValidUTF8(text[:mostEvidence], "") + "..."
	}
	if text == "" {
		return "-"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// markdown escapes the characters that Markdown gives a meaning.
var markdown = strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`, "`", "'", "\n", " ")

// plain returns advice, which may quote names of a host, in one line without markup.
func plain(text string) string { return markdown.Replace(text) }

// contents describes the files of the archive.
const contents = `## What is in this archive

| file | |
|---|---|
| ` + "`findings.json`" + ` | the findings above, all hosts |
| ` + "`cluster-checks.json`" + ` | checks of etcd and of the Kubernetes API |
| ` + "`hosts/HOST/checks.json`" + ` | checks of units, health endpoints and certificates |
| ` + "`hosts/HOST/system/`" + ` | clock, load, memory, disks, processes (without arguments), kernel log |
| ` + "`hosts/HOST/units/`" + ` | states and logs of units |
| ` + "`hosts/HOST/pods/`" + ` | restarts of all containers, logs of the namespace kube-system |
| ` + "`hosts/HOST/network/`" + ` | addresses, routes, numbers of packet filter rules, BGP sessions, sockets |
| ` + "`hosts/HOST/runs/`" + ` | journals of the last runs of deployer |

Secrets of the inventory, keys, tokens and passwords that the rules know were replaced by ` + "`[secret]`" + `. Names of hosts, addresses and logs are as they are: read them before you pass the archive on.
`

// DefaultName returns the name of the archive's directory.
func DefaultName(clusterName string, now time.Time) string {
	return "diagnose-" + clusterName + "-" + now.UTC().Format("20060102-150405")
}
