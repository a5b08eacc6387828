package main

import (
	"fmt"
	"time"
)

const heading = " hosts  run      wall s   cpu s  ms a host  rss MB  sent MB  received MB  connections  at work  hosts' cpu s"

// row returns the line of one measured run in the table.
func (r run) row(hosts int, name string) string {
	return fmt.Sprintf("%6d  %-6s  %7.2f  %6.2f  %9.1f  %6d  %7.1f  %11.1f  %11d  %7d  %12.2f",
		hosts, name, r.wall.Seconds(), r.cpu.Seconds(), r.cpu.Seconds()*1000/float64(len(r.report.Hosts)), megabytes(r.rss),
		float64(r.Received)/1e6, float64(r.Sent)/1e6, r.Peak, r.Busy, r.CPU.Seconds())
}

// summaryLine returns the figures of a fleet as one line for scripts to parse. Bytes
// are those that the controller sent.
func (s size) summaryLine() string {
	return fmt.Sprintf("fleet hosts=%d wall_s=%s rss_mb=%d one_host_s=%s second_s=%s cpu_s=%s sent_mb=%.1f busy=%d",
		s.hosts, seconds(s.first.wall), megabytes(max(s.first.rss, s.second.rss)), seconds(s.one.wall), seconds(s.second.wall),
		seconds(s.first.cpu), float64(s.first.Received)/1e6, max(s.first.Busy, s.second.Busy))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

func megabytes(n int64) int64 { return (n + 500_000) / 1_000_000 }
