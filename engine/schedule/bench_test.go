package schedule

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkThousandHosts runs 300 tasks on 1000 fake hosts: a third the same on
// all hosts, a third with templates, a third with a condition and a loop of one
// item; with a barrier, a registered result and a handler every 30 tasks.
func BenchmarkThousandHosts(b *testing.B) {
	const hosts, tasks = 1000, 300
	var site strings.Builder
	site.WriteString("- hosts: all\n  handlers: [{name: reload, do: {}}]\n  tasks:\n")
	for i := range tasks {
		switch {
		case i%30 == 29:
			fmt.Fprintf(&site, "    - {name: t%d, do: {do: change}, register: r%d, notify: reload, barrier: true}\n", i, i)
		case i%3 == 0:
			fmt.Fprintf(&site, "    - {name: t%d, do: {text: same on all hosts}}\n", i)
		case i%3 == 1:
			fmt.Fprintf(&site, "    - {name: t%d, do: {text: \"/etc/{{ host.name }}/{{ facts.arch }}\", extra: {a: \"{{ n + 1 }}\"}}}\n", i)
		default:
			fmt.Fprintf(&site, "    - {name: t%d, do: {text: \"{{ item }}\"}, loop: [1], when: [host.name != \"nobody\", facts.arch == \"amd64\"]}\n", i)
		}
	}
	s := of(hosts)
	s.fleet.quiet = true
	prog := s.compile(b, site.String())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used := cpu(b)
	b.ResetTimer()
	for b.Loop() {
		report, err := Run(b.Context(), prog, s.options())
		if err != nil || len(report.Broken()) > 0 {
			b.Fatal(err, report.Broken())
		}
	}
	runtime.ReadMemStats(&after)
	steps := float64(b.N * hosts * tasks)
	b.ReportMetric((cpu(b)-used).Seconds()/float64(b.N), "cpu-s/run")
	b.ReportMetric(float64((cpu(b)-used).Nanoseconds())/steps, "cpu-ns/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/steps, "B/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/steps, "allocs/step")
	b.ReportMetric(float64(after.HeapInuse)/(1<<20), "MB-heap")
}
