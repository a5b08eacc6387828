package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"deployer/engine/probe"
	"deployer/shortlist"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/poll"
)

// outsideTimeout is the time during which a name outside the cluster is retried after all
// other targets of the probe were reached: no Service must reach the nodes for it.
const outsideTimeout = 5 * time.Second

// outside is the check that asks cluster DNS for a name outside the cluster.
const outside = "DNS outside"

// serviceByIP and serviceByName are the checks that connect to Services.
const (
	serviceByIP   = "service by IP"
	serviceByName = "service by name"
)

// serviceAdvice is what to do when the checks of Services fail.
var serviceAdvice = map[string]string{
	serviceByIP:   "kube-proxy of the node writes the rules for Services: after an outage of all API servers it may need two minutes until it watches again; deployer install waits for it and restarts it",
	serviceByName: "cluster DNS answers for Services: after an outage of all API servers it may need two minutes until it watches again; then look at its pods with kubectl -n kube-system logs -l k8s-app=kube-dns",
}

// podToPod connects to the pods of other nodes, dnsInside asks cluster DNS for names of Services.
const (
	podToPod  = "pod to pod"
	dnsInside = "DNS inside"
)

// probeResult is one target with its check and its result.
type probeResult struct {
	check  string
	what   string // the target in messages
	node   string // of the pod that is the target; else empty
	target probe.Target
	result probe.Result
}

// probeAll queries all probes concurrently, and returns a row for each node and check.
func probeAll(ctx context.Context, c *kube.Client, namespace string, services []string, pods []running, o Options) []report.Row {
	var mu sync.Mutex
	var rows []report.Row
	results := map[string][]*probeResult{} // by node
	var wg sync.WaitGroup
	others, settle := partners(pods), settleTime(ctx, c, time.Now())
	for _, p := range pods {
		wg.Go(func() {
			list := targets(others[p.node], services, namespace, o)
			err := queryUntilSettled(ctx, c, namespace, p, list, settle)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				rows = append(rows, report.Bad("test pod", p.node, "the API server cannot reach its probe: %v", err).
					Advised("run deployer network status: masters need routes to the pod ranges of all nodes"))
				return
			}
			results[p.node] = list
		})
	}
	wg.Wait()
	rows = append(rows, rowsOf(results)...)
	for _, p := range pods {
		if o.Further != "" && p.further == "" {
			rows = append(rows, report.Bad(podToPod+suffix(o.Further), p.node, "the test pod has no %s address", familyName(o.Further)).Advised("look at /etc/cni/net.d on the host, and run deployer install"))
		}
	}
	if o.Outside == "" {
		rows = append(rows, report.Skip(outside, "", "%s", o.NoOutside))
	}
	report.Sort(rows)
	return rows
}

// targets returns the targets that one probe must reach.
func targets(others []running, services []string, namespace string, o Options) []*probeResult {
	list := []*probeResult{
		{check: dnsInside, what: "kubernetes.default.svc." + o.Domain, target: probe.Target{Kind: "dns", Name: "kubernetes.default.svc." + o.Domain + "."}},
		{check: dnsInside, what: "kubernetes.default", target: probe.Target{Kind: "dns", Name: "kubernetes.default"}},
		{check: serviceByIP, what: "the API at " + o.ServiceIP, target: probe.Target{Kind: "tcp", Address: net.JoinHostPort(o.ServiceIP, strconv.Itoa(o.ServicePort))}},
		{check: serviceByIP, what: "a test Service at " + services[0], target: httpTarget(services[0])},
		{check: serviceByName, what: "a test Service by name", target: httpTarget(serviceName + "." + namespace + ".svc." + o.Domain)},
	}
	for _, other := range others {
		list = append(list, &probeResult{check: podToPod, node: other.node, what: other.node + " (" + other.ip + ")", target: httpTarget(other.ip)})
	}
	if o.Further != "" {
		list = append(list, furtherTargets(others, services, namespace, o)...)
	}
	if o.Outside != "" {
		list = append(list, &probeResult{check: outside, what: o.Outside, target: probe.Target{Kind: "dns", Name: strings.TrimSuffix(o.Outside, ".") + "."}})
	}
	for _, a := range list {
		a.target.Timeout = targetTimeout
	}
	return list
}

// httpTarget is a request to the probe at host.
func httpTarget(host string) probe.Target {
	return probe.Target{Kind: "http", Address: "http://" + net.JoinHostPort(host, strconv.Itoa(probePort)) + "/ok"}
}

// queryUntilSettled queries a probe, and repeats the failed targets for at most
// settle, or for outsideTimeout when only a name outside the cluster is left. queryUntilSettled
// fails only when the probe has never responded.
func queryUntilSettled(ctx context.Context, c *kube.Client, namespace string, p running, list []*probeResult, settle time.Duration) error {
	answered := false
	var inside time.Time // when all other targets were reached
	err := poll.Until(ctx, settle, time.Second, func(ctx context.Context) (string, bool, error) {
		var open []*probeResult
		for _, a := range list {
			if !a.result.OK {
				open = append(open, a)
			}
		}
		if err := query(ctx, c, namespace, p, open); err != nil {
			return "", false, poll.Later(err)
		}
		answered = true
		failed := firstFailed(open)
		if failed == outside && inside.IsZero() {
			inside = time.Now()
		}
		switch {
		case failed == "":
			return "", true, nil
		case failed == outside && time.Since(inside) >= outsideTimeout:
			return "", true, nil // summarize reports it
		}
		return failed + " fails", false, nil
	})
	if answered {
		return nil
	}
	return err
}

// firstFailed returns the check of a target that was not reached, outside only when
// nothing else failed, and nothing when all were reached.
func firstFailed(list []*probeResult) string {
	failed := ""
	for _, a := range list {
		if !a.result.OK && (failed == "" || failed == outside) {
			failed = a.check
		}
	}
	return failed
}

// query sends one request to a probe through the API server's proxy to pods, and stores
// the results in list.
func query(ctx context.Context, c *kube.Client, namespace string, p running, list []*probeResult) error {
	var request probe.Request
	for _, a := range list {
		request.Targets = append(request.Targets, a.target)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy/check", namespace, p.pod, probePort)
	status, answer, err := c.Raw(ctx, "POST", path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	var response probe.Response
	if status != 200 {
		return fmt.Errorf("the proxy returns HTTP status %d: %s", status, strings.TrimSpace(string(answer[:min(len(answer), 200)])))
	}
	if err := json.Unmarshal(answer, &response); err != nil || len(response.Results) != len(list) {
		return fmt.Errorf("the probe returns %d results for %d targets: %w", len(response.Results), len(list), err)
	}
	for i, a := range list {
		a.result = response.Results[i]
	}
	return nil
}

// aim is the pod of a node as the target of a check.
type aim struct{ check, node string }

// unreached returns the pods that no other pod has reached, and how many have tried.
func unreached(results map[string][]*probeResult) map[aim]int {
	tries, reached := map[aim]int{}, map[aim]bool{}
	for _, list := range results {
		for _, a := range list {
			if a.node != "" {
				at := aim{a.check, a.node}
				tries[at]++
				reached[at] = reached[at] || a.result.OK
			}
		}
	}
	maps.DeleteFunc(tries, func(at aim, _ int) bool { return reached[at] })
	return tries
}

// rowsOf returns the rows of all probes. A pod that several others do not reach, and none does, is
// a problem of its node and not of theirs.
func rowsOf(results map[string][]*probeResult) []report.Row {
	var rows []report.Row
	alone := unreached(results)
	for node, list := range results {
		rows = append(rows, summarize(node, slices.DeleteFunc(list, func(a *probeResult) bool { return alone[aim{a.check, a.node}] > 1 }))...)
	}
	for at, tries := range alone {
		rows = append(rows, report.Bad(at.check, at.node, "no other pod reaches the pod of this node; %d tried", tries).
			Advised("run deployer network status, which names missing routes and BGP sessions; then check the firewall of the host"))
	}
	return rows
}

// summarize returns one row for each check of a node.
func summarize(node string, list []*probeResult) []report.Row {
	var order []string
	total, bad := map[string]int{}, map[string][]string{}
	for _, a := range list {
		if total[a.check] == 0 {
			order = append(order, a.check)
		}
		total[a.check]++
		if !a.result.OK {
			bad[a.check] = append(bad[a.check], a.what+": "+a.result.Detail)
		}
	}
	var rows []report.Row
	for _, check := range order {
		if n := len(bad[check]); n > 0 {
			row := report.Bad(check, node, "%d of %d fail: %s", n, total[check], shortlist.Texts(bad[check], 3))
			if advice := cmp.Or(serviceAdvice[check], furtherAdvice(check)); advice != "" {
				row = row.Advised(advice)
			}
			rows = append(rows, row)
			continue
		}
		rows = append(rows, report.OK(check, node, "%d of %d", total[check], total[check]))
	}
	return rows
}
