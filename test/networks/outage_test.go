//go:build lab

package networks

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"deployer/test/harness"
)

// outages measures for how long a pod has no network: to the pod of another node by pings every 50 ms, and to a
// Service and to an address outside of the cluster by new connections.
type outages struct {
	site *harness.Site
	node string
}

// outage has the times for which a pod had no network.
type outage struct {
	Sent, Lost             int           // pings
	Pods, Service, Outside time.Duration // 0: every attempt succeeded
}

func (o outage) String() string {
	return fmt.Sprintf("pods %.1f s (%d of %d pings), Service %.1f s, outside %.1f s", o.Pods.Seconds(), o.Lost, o.Sent, o.Service.Seconds(), o.Outside.Seconds())
}

// Files of a measurement on the node.
const (
	outagePings   = "/tmp/outage-pings"
	outageService = "/tmp/outage-service"
	outageOutside = "/tmp/outage-outside"
)

// startOutages starts the measurements in the pod of startPods of a node.
func startOutages(s *harness.Site, node, pod, service string) *outages {
	s.T.Helper()
	background := func(file, command string) {
		s.Shell(node, inPod(command)+" >"+file+" 2>&1 </dev/null & echo $! >"+file+".pid")
	}
	background(outagePings, "ping -D -i 0.05 "+pod)
	background(outageService, repeat(tcp(service, talkersPort)))
	background(outageOutside, repeat(tcp(manager, 53)))
	time.Sleep(time.Second)
	return &outages{site: s, node: node}
}

// repeat is a command that runs an attempt ten times a second, and prints for each its result, begin and end.
func repeat(attempt string) string {
	return `bash -c "while :; do a=\$(date +%s.%N); ` + attempt + ` 2>/dev/null && r=ok || r=failed; echo \$r \$a \$(date +%s.%N); sleep 0.1; done"`
}

// end ends the measurements.
func (o *outages) end() outage {
	o.site.T.Helper()
	time.Sleep(time.Second)
	// ping writes what it has at SIGINT, which a shell in the background ignores.
	o.site.Shell(o.node, fmt.Sprintf("kill -INT $(cat %s.pid); kill $(cat %s.pid %s.pid); sleep 0.5", outagePings, outageService, outageOutside))
	read := func(file string) string { return o.site.Shell(o.node, "cat "+file) }
	out := outage{Service: failedSpan(read(outageService)), Outside: failedSpan(read(outageOutside))}
	replies, last := 0, 0.0
	for _, r := range reply.FindAllStringSubmatch(read(outagePings), -1) {
		at, _ := strconv.ParseFloat(r[1], 64)
		number, _ := strconv.Atoi(r[2])
		if gap := at - last - pingInterval.Seconds(); last > 0 && number > out.Sent+1 {
			out.Pods = max(out.Pods, time.Duration(gap*float64(time.Second)))
		}
		out.Sent, last, replies = max(out.Sent, number), at, replies+1
	}
	out.Lost = out.Sent - replies
	return out
}

// pingInterval is the time between two pings.
const pingInterval = 50 * time.Millisecond

// failedSpan returns the time from the begin of the first failed attempt to the end of the last one.
func failedSpan(attempts string) time.Duration {
	first, last := 0.0, 0.0
	for line := range strings.Lines(attempts) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "failed" {
			continue
		}
		begin, _ := strconv.ParseFloat(f[1], 64)
		last, _ = strconv.ParseFloat(f[2], 64)
		if first == 0 {
			first = begin
		}
	}
	return time.Duration((last - first) * float64(time.Second))
}
