package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"deployer/test/bench/plot"
)

//go:embed page.md.tmpl
var pageText string

// page renders docs/scale.md.
func page(r *results) (string, error) {
	tpl, err := template.New("page").Option("missingkey=error").Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = tpl.Execute(&b, map[string]any{
		"r": r, "runs": runTable(r.Runs), "proxy": proxyTable(r.Proxy), "inflight": inflightTable(r.Inflight), "restarts": restartTable(r.Restarts),
		"keeperTimes": keeperTimes(r.Keeper), "keeperLoads": keeperLoads(r.Keeper),
		"install": installTable(r.Install), "lines": strings.Join(closingLines(r), "\n"), "watches": watchesOfNode,
	})
	return b.String(), err
}

// table returns a table in Markdown.
func table(heading []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(heading)
	b.WriteString(strings.Repeat("|---", len(heading)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// percent formats a share, or a number of processors, in percent.
func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// rate formats a number per second.
func rate(v float64) string {
	if v > 0 && v < 10 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ms(v float64) string { return fmt.Sprintf("%.0f", v) }

func runTable(runs []runInfo) string {
	var cells [][]string
	for _, r := range runs {
		cells = append(cells, []string{fmt.Sprint(r.Nodes), fmt.Sprint(r.Pods), strings.Join(r.Stages, ", "), r.Machine})
	}
	return table([]string{"nodes", "pods", "measured", "machine"}, cells)
}

func proxyTable(rows []proxyRow) string {
	var cells [][]string
	for _, r := range rows {
		timeout := r.Timeout
		if r.Checks > 1 {
			timeout += fmt.Sprintf(", checks of %d proxies", r.Checks)
		}
		cells = append(cells, []string{
			fmt.Sprint(r.Nodes), r.Proxy, timeout, percent(r.Processors.API), percent(r.Processors.Proxy), percent(r.Processors.Etcd), percent(r.Processors.Clients),
			rate(r.Handshakes), rate(r.Opened), rate(r.Lists), percent(r.Open), fmt.Sprint(r.Late), ms(r.P50), ms(r.P99), fmt.Sprintf("%d of %d", r.Failed, r.Calls),
		})
	}
	return table([]string{"nodes", "proxy", "timeout", "API servers", "proxy", "etcd", "clients", "TLS handshakes /s", "watches opened /s", "lists /s", "watches open", "late Leases", "p50 ms", "p99 ms", "failed calls"}, cells)
}

func inflightTable(rows []inflightRow) string {
	var cells [][]string
	for _, r := range rows {
		fairness := "on"
		if !r.Fairness {
			fairness = "off"
		}
		cells = append(cells, []string{
			fmt.Sprintf("%d / %d", r.Reads, r.Writes), fairness, rate(r.Served), rate(r.Refused), fmt.Sprint(r.TimedOut + r.Failed),
			ms(r.P50), ms(r.P99), ms(r.ProbeP50), ms(r.ProbeP99), fmt.Sprintf("%d of %d", r.ProbeFails, r.ProbeCalls), fmt.Sprint(r.Late), percent(r.Processors.API),
		})
	}
	return table([]string{"reads / writes", "fairness", "served /s", "429 /s", "failed", "p50 ms", "p99 ms", "another user's p50 ms", "p99 ms", "failed calls", "late Leases", "API servers"}, cells)
}

func restartTable(rows []restartRow) string {
	var cells [][]string
	for _, r := range rows {
		steady := fmt.Sprintf("%.0f", r.Steady)
		if r.Unsteady {
			steady = "more than " + steady
		}
		cells = append(cells, []string{
			r.What, fmt.Sprint(r.Nodes), fmt.Sprintf("%.0f", r.Down), steady, ms(r.Longest), fmt.Sprintf("%d of %d", r.Failed, r.Calls),
			fmt.Sprint(r.Handshakes), fmt.Sprint(r.Lists), fmt.Sprint(r.Late), fmt.Sprint(r.NotReady),
		})
	}
	return table([]string{"restarts", "nodes", "ready after s", "steady after s", "longest call ms", "failed calls", "TLS handshakes", "lists", "late Leases", "nodes NotReady"}, cells)
}

func keeperTimes(rows []keeperResult) string {
	var cells [][]string
	seconds := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	for _, r := range rows {
		cells = append(cells, []string{
			fmt.Sprintf("%d of %d", r.Dead, r.Nodes), fmt.Sprint(r.Pods), fmt.Sprint(r.Cleared), seconds(r.LastPod), fmt.Sprintf("%s / %s", seconds(r.ClearP50), seconds(r.ClearMax)),
			fmt.Sprint(r.Purged), seconds(r.LastNode), fmt.Sprintf("%s / %s", seconds(r.PurgeFirst), seconds(r.PurgeMax)), fmt.Sprint(r.WithNode), fmt.Sprint(r.Failed), fmt.Sprint(r.Wrong),
		})
	}
	return table([]string{"dead nodes", "pods", "force-deleted pods", "last one after s", "over the settings, median / last s", "purged nodes", "last one after s", "over the settings, first / last s", "pods that ended with their Node", "failed actions", "wrong actions"}, cells)
}

func keeperLoads(rows []keeperResult) string {
	var cells [][]string
	for _, r := range rows {
		for _, phase := range []struct {
			name  string
			loads []keeperLoad
		}{{"idle", r.Idle}, {"acting", r.Acting}} {
			for i, l := range phase.loads {
				who := "leader"
				if i > 0 {
					who = "another one"
				}
				cells = append(cells, []string{fmt.Sprint(r.Nodes), who, phase.name, fmt.Sprintf("%.2f %%", 100*l.Processors), fmt.Sprintf("%.0f", l.RSS), fmt.Sprintf("%.0f", l.MaxRSS), fmt.Sprintf("%.0f", l.Calls)})
			}
		}
	}
	return table([]string{"nodes", "keeper", "", "processor", "memory MB", "at most MB", "API calls per minute"}, cells)
}

func installTable(rows []installRow) string {
	var cells [][]string
	for _, r := range rows {
		published := ""
		for _, k := range kargo {
			if int(k.hosts) == r.Hosts {
				published = fmt.Sprintf("%.0f", k.minutes)
			}
		}
		cells = append(cells, []string{
			fmt.Sprint(r.Hosts), fmt.Sprintf("%.1f", r.Wall), fmt.Sprintf("%.1f", r.Second), fmt.Sprintf("%.1f", r.OneHost), fmt.Sprintf("%.1f", r.CPU),
			fmt.Sprintf("%.0f", r.RSS), fmt.Sprintf("%.0f", r.Sent), published,
		})
	}
	return table([]string{"hosts", "first run s", "second run s", "one host of them s", "controller cpu s", "memory MB", "sent MB", "Kargo's install, minutes"}, cells)
}

// proxyRowOf returns the row of the largest number of nodes with a timeout, without the checks of others.
func (r *results) proxyRowOf(proxy, timeout string) (row proxyRow, ok bool) {
	for _, one := range r.Proxy {
		if one.Proxy == proxy && one.Timeout == timeout && one.Checks == 1 && one.Nodes >= row.Nodes {
			row, ok = one, true
		}
	}
	return row, ok
}

// closingLines returns the figures for scripts to parse. The processor times of API servers, and of the leading keeper
// while it is idle, are in percent of one processor.
func closingLines(r *results) []string {
	var lines []string
	short, ok := r.proxyRowOf("haproxy", "3s")
	long, both := r.proxyRowOf("haproxy", "10m")
	if ok && both {
		lines = append(lines, fmt.Sprintf("scale nodes=%d pods=%d api_p99_ms=%.0f proxy3s_cpu=%.0f proxy10m_cpu=%.0f",
			short.Nodes, r.pods(short.Nodes), long.P99, 100*short.Processors.API, 100*long.Processors.API))
	}
	if n := len(r.Keeper); n > 0 {
		k := r.Keeper[n-1]
		most := 0.0
		for _, l := range k.Acting {
			most = max(most, l.MaxRSS)
		}
		lines = append(lines, fmt.Sprintf("keeper nodes=%d dead=%d clear_max_s=%.0f purge_max_s=%.0f rss_mb=%.0f cpu=%.2f calls_per_min=%.0f",
			k.Nodes, k.Dead, k.ClearMax, k.PurgeMax, most, 100*k.Idle[0].Processors, k.Idle[0].Calls))
	}
	for _, row := range r.Install {
		lines = append(lines, fmt.Sprintf("install%d wall_s=%.1f rss_mb=%.0f sent_mb=%.0f", row.Hosts, row.Wall, row.RSS, row.Sent))
	}
	return lines
}

// proxyPlot draws what the timeouts cost over the number of nodes.
func proxyPlot(rows []proxyRow) string {
	panels := []plot.Panel{{Title: "API servers, busy processors"}, {Title: "TLS handshakes per second"}, {Title: "p99 of calls for one object, ms", Log: true}}
	values := []func(proxyRow) float64{
		func(r proxyRow) float64 { return r.Processors.API },
		func(r proxyRow) float64 { return r.Handshakes },
		func(r proxyRow) float64 { return r.P99 },
	}
	for _, l := range []struct{ proxy, timeout, color string }{
		{"haproxy", "3s", plot.Orange}, {"haproxy", "1m", "#f59e0b"}, {"haproxy", "10m", plot.Blue},
		{"nginx", "3s", plot.Violet}, {"nginx", "1m", "#db2777"}, {"nginx", "10m", plot.Green},
	} {
		for i := range panels {
			line := plot.Line{Name: l.proxy + " " + l.timeout, Color: l.color}
			for _, r := range rows {
				if r.Proxy == l.proxy && r.Timeout == l.timeout && r.Checks == 1 {
					line.Points = append(line.Points, plot.Point{X: float64(r.Nodes), Y: values[i](r)})
				}
			}
			panels[i].Lines = append(panels[i].Lines, line)
		}
	}
	return plot.SVG(panels, 3)
}

// installPlot draws times over the number of hosts beside those that Kargo's authors have published.
func installPlot(rows []installRow) string {
	published := plot.Line{Name: "Kargo's install", Color: plot.Orange}
	for _, k := range kargo {
		published.Points = append(published.Points, plot.Point{X: k.hosts, Y: k.minutes})
	}
	first := plot.Line{Name: "deployer, 300 steps", Color: plot.Blue}
	memory := plot.Line{Name: first.Name, Color: first.Color}
	sent := memory
	for _, r := range rows {
		first.Points = append(first.Points, plot.Point{X: float64(r.Hosts), Y: r.Wall / 60})
		memory.Points = append(memory.Points, plot.Point{X: float64(r.Hosts), Y: r.RSS})
		sent.Points = append(sent.Points, plot.Point{X: float64(r.Hosts), Y: r.Sent})
	}
	return plot.SVG([]plot.Panel{
		{Title: "minutes", Log: true, Lines: []plot.Line{published, first}},
		{Title: "memory of the controller, MB", Lines: []plot.Line{memory}},
		{Title: "sent by the controller, MB", Lines: []plot.Line{sent}},
	}, 3)
}
