package verify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/cluster"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/poll"
)

// system is the namespace of the components of Kubernetes.
const system = "kube-system"

// clusterTimeout is the maximum time of all requests to the API together. Without etcd
// each request to the API hangs until its timeout.
const clusterTimeout = 15 * time.Second

// newNodeAge is the age up to which the mirror pods of a node may be missing: the
// kubelet creates them when it next syncs its static pods, which it does every 60 to
// 90 s (syncFrequency with jitter).
const newNodeAge = 2 * time.Minute

// Cluster checks nodes, static pods and the workloads of kube-system through the API.
// When the API is not ready, that row is the only one.
func Cluster(ctx context.Context, c *kube.Client, want *cluster.Cluster) []report.Row {
	if state, ok := c.FindReady(ctx); !ok {
		return []report.Row{report.Bad("Kubernetes API", "", "%s", state)}
	}
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	states, err := kube.Nodes(ctx, c, nil)
	if err != nil {
		return []report.Row{report.Bad("nodes", "", "%v", err)}
	}
	parts := make([][]report.Row, 3)
	var wg sync.WaitGroup
	wg.Go(func() { parts[0] = staticPods(ctx, c, want, states) })
	wg.Go(func() { parts[1] = workloads(ctx, c, kube.DeploymentKind()) })
	wg.Go(func() { parts[2] = workloads(ctx, c, kube.DaemonSetKind()) })
	wg.Wait()
	return slices.Concat(nodes(want, states), parts[0], parts[1], parts[2])
}

func nodes(want *cluster.Cluster, states []kube.NodeState) []report.Row {
	found := map[string]kube.NodeState{}
	for _, s := range states {
		found[s.Name] = s
	}
	var rows []report.Row
	for _, name := range want.NodeNames {
		rows = append(rows, nodeRow(name, found, want.Nodes[name].Versions.Kubelet, want.Network.Plugin))
		delete(found, name)
	}
	for _, s := range states {
		if _, extra := found[s.Name]; extra {
			rows = append(rows, report.Skip("node", s.Name, "the node is not in the inventory"))
		}
	}
	return rows
}

func nodeRow(name string, found map[string]kube.NodeState, version, plugin string) report.Row {
	s, ok := found[name]
	switch {
	case !ok:
		return report.Bad("node", name, "there is no such node").Advised("look at journalctl -u kubelet on the host")
	case s.LacksNetwork && plugin == cluster.PluginNone:
		return report.Bad("node", name, "not Ready: it has no pod network").Advised("apply the manifests of your pod network: cluster.network.plugin is none")
	case !s.Ready:
		return report.Bad("node", name, "not Ready: %s", s.Reason)
	case s.Version != version:
		return report.Bad("node", name, "Ready, but its kubelet is %s instead of %s", s.Version, version).Advised("run install again")
	}
	return report.OK("node", name, "Ready, kubelet %s", s.Version)
}

// staticPodNames returns the names of the static pods that a host must run.
func staticPodNames(n cluster.Node) []string {
	var names []string
	if n.RunsAPIServer {
		names = append(names, "kube-apiserver", "kube-controller-manager", "kube-scheduler")
	}
	if n.RunsKubeProxy {
		names = append(names, "kube-proxy")
	}
	if n.RunsCalico {
		names = append(names, "calico-node")
	}
	if n.RunsTypha {
		names = append(names, "calico-typha")
	}
	if n.RunsLocalProxy {
		names = append(names, "api-proxy")
	}
	return names
}

// staticPods checks the mirror pods, by which kubelets report their static pods to the
// API.
func staticPods(ctx context.Context, c *kube.Client, want *cluster.Cluster, states []kube.NodeState) []report.Row {
	items, err := c.List(ctx, kube.PodKind(), system, v1.ListOptions{})
	if err != nil {
		return []report.Row{report.Bad("static pods", "", "%v", err)}
	}
	found := map[string]*unstructured.Unstructured{}
	for i := range items {
		found[items[i].GetName()] = &items[i]
	}
	fresh := map[string]bool{}
	for _, s := range states {
		fresh[s.Name] = time.Since(s.Created) < newNodeAge
	}
	var rows []report.Row
	for _, host := range want.NodeNames {
		for _, name := range staticPodNames(want.Nodes[host]) {
			rows = append(rows, staticRow(name, host, found[name+"-"+host], fresh[host]))
		}
	}
	return rows
}

// Details, or their beginnings, of static pods that kubelets may soon report otherwise.
const (
	missing     = "it does not run" // it has no mirror pod
	justStarted = "not Ready: its container has just started"
)

// startedFor is the time after the start of a container in which its pod may be reported as
// not Ready: the startup probes of the control plane run every 2 s, and the kubelet reports
// their result some seconds later.
const startedFor = 30 * time.Second

// reportEvery is the interval at which the API is asked again for such pods.
const reportEvery = 2 * time.Second

// awaitReports repeats a check as long as nodes that are Ready have not reported a static pod,
// or one that has just started, at most for the given time, and returns the last rows.
func awaitReports(ctx context.Context, within time.Duration, check func() []report.Row) ([]report.Row, error) {
	rows := check()
	for deadline := time.Now().Add(within); areLate(rows) && time.Now().Before(deadline); rows = check() {
		if err := poll.Sleep(ctx, reportEvery); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// areLate reports whether a mirror pod of a node that is Ready is missing or has just started.
func areLate(rows []report.Row) bool {
	isReady := map[string]bool{}
	for _, r := range rows {
		if r.Check == "node" && r.OK && !r.Skipped {
			isReady[r.Host] = true
		}
	}
	return slices.ContainsFunc(rows, func(r report.Row) bool {
		return !r.OK && (r.Detail == missing || strings.HasPrefix(r.Detail, justStarted)) && isReady[r.Host]
	})
}

// staticRow returns the row of a static pod. A kubelet that has just begun, or that has
// just replaced the pod, reports it late.
func staticRow(name, host string, o *unstructured.Unstructured, fresh bool) report.Row {
	const notReported = "the kubelet has not reported it to the API yet"
	if o == nil && fresh {
		return report.Skip(name, host, notReported)
	}
	if o == nil {
		return report.Bad(name, host, missing).Advised("look at journalctl -u kubelet on the host")
	}
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return report.Bad(name, host, "%v", err)
	}
	if (fresh || time.Since(p.CreationTimestamp.Time) < newNodeAge) && p.Status.Phase == corev1.PodPending && len(p.Status.ContainerStatuses) == 0 {
		return report.Skip(name, host, notReported)
	}
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" { // its containers would be started again
		return report.Bad(name, host, "the kubelet has refused it: %s", strings.TrimSpace(p.Status.Reason+" "+p.Status.Message)).
			Advised("remove the cause, then run systemctl restart kubelet on the host: the kubelet decides once about each static pod")
	}
	restarts := int32(0)
	for _, s := range p.Status.ContainerStatuses {
		restarts += s.RestartCount
	}
	if !ready(&p) {
		detail := "not Ready: " + reason(&p)
		if hasJustStarted(&p, time.Now()) {
			detail = fmt.Sprintf("%s; %d restarts", justStarted, restarts)
		}
		return report.Bad(name, host, "%s", detail).Advised(staticPodAdvice(name, host, detail))
	}
	return report.OK(name, host, "Ready, %d restarts", restarts)
}

// reservedName is the error of containerd about a container that it cannot create, because another
// one has its name (containerd internal/cri/server, container_create.go). The kubelet tries the
// same name for ever when a clock that was set back made it take an old container for the newest.
var reservedName = regexp.MustCompile(`failed to reserve container name .* is reserved for \\*"([0-9a-f]{12,64})`)

// staticPodAdvice returns the advice for a static pod that is not Ready.
func staticPodAdvice(name, host, problem string) string {
	if found := reservedName.FindStringSubmatch(problem); found != nil {
		return fmt.Sprintf("its former container has the name; end it on the host, and the kubelet starts another: ctr -n k8s.io tasks kill -s KILL %s", found[1])
	}
	return fmt.Sprintf("see its log on the host: /var/log/pods/kube-system_%s-%s_*/", name, host)
}

// hasJustStarted reports whether all containers of a pod run, and one of them has not passed its startup
// probe, or has run for less than startedFor.
func hasJustStarted(p *corev1.Pod, now time.Time) bool {
	recent := false
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running == nil {
			return false
		}
		recent = recent || s.Started == nil || !*s.Started || now.Sub(s.State.Running.StartedAt.Time) < startedFor
	}
	return recent
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// reason returns the reason for which a pod does not run.
func reason(p *corev1.Pod) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "":
			return strings.TrimSpace(s.State.Waiting.Reason + " " + s.State.Waiting.Message)
		case s.State.Terminated != nil:
			return fmt.Sprintf("exited with %d %s", s.State.Terminated.ExitCode, s.State.Terminated.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	return fmt.Sprintf("phase %q %s", p.Status.Phase, p.Status.Message)
}

func workloads(ctx context.Context, c *kube.Client, kind schema.GroupVersionKind) []report.Row {
	items, err := c.List(ctx, kind, system, v1.ListOptions{})
	if err != nil {
		return []report.Row{report.Bad(strings.ToLower(kind.Kind)+"s", "", "%v", err)}
	}
	var rows []report.Row
	for i := range items {
		name := strings.ToLower(kind.Kind) + " " + items[i].GetName()
		workload := kube.Workload{Kind: kind, Namespace: system, Name: items[i].GetName()}
		r, err := kube.RolloutOf(&items[i], 1, 0)
		switch {
		case err != nil:
			rows = append(rows, report.Bad(name, "", "%v", err))
		case !r.Done:
			rows = append(rows, report.Bad(name, "", "%s", strings.Join(append([]string{r.Text}, kube.PodProblems(ctx, c, workload)...), "; ")))
		default:
			rows = append(rows, report.OK(name, "", "%s", r.Text))
		}
	}
	return rows
}
