//go:build lab

package lifecycle

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// apiserverFlag sets a flag of the API servers and reverts the run.
func apiserverFlag(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["event-ttl"] = "2h"
	})
	s.Must("install")
	for _, m := range masters {
		if got := s.Shell(m, "tr '\\0' '\\n' < /proc/$(pidof kube-apiserver)/cmdline | grep event-ttl || true"); got != "--event-ttl=2h" {
			s.T.Errorf("%s: the running API server has %q", m, got)
		}
	}
	s.Must("revert", s.LastRun().Run, "--yes")
	s.setInventory(good)
	s.unchanged("after the revert")
}

// kubeletValue sets a value of the kubelets and reverts the run. No other process
// restarts.
func kubeletValue(s *site) {
	good := s.inventory()
	before := s.Digests("/var/lib/kubelet/config.yaml", nodes)
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "kubelet")["maxPods"] = 120
	})
	running := s.processes(nodes...)
	s.Must("install")
	for _, n := range nodes {
		if got := s.Kubectl("m1", "get node "+n+" -o 'jsonpath={.status.capacity.pods}'"); got != "120" {
			s.T.Errorf("%s may run %s pods, want 120", n, got)
		}
	}
	s.Must("revert", s.LastRun().Run, "--yes")
	s.requireProcesses(running, "with the value and its revert", "kubelet")
	s.setInventory(good)
	if diff := cmp.Diff(before, s.Digests("/var/lib/kubelet/config.yaml", nodes)); diff != "" {
		s.T.Errorf("the kubelet's configuration (- before, + after the revert):\n%s", diff)
	}
}

// badKubeletValue sets a value with which a kubelet ends two seconds after its start:
// the run stops at the first node, which is restored.
func badKubeletValue(s *site) {
	good := s.inventory()
	before := s.Digests("/var/lib/kubelet/config.yaml", nodes)
	s.Edit(func(inv map[string]any) {
		kubelet := harness.Section(inv, "cluster", "overrides", "kubelet")
		kubelet["enforceNodeAllocatable"] = []any{"pods", "system-reserved"}
		kubelet["systemReserved"] = map[string]any{"memory": "100Mi"}
		kubelet["systemReservedCgroup"] = "/no-such-group"
	})
	o := s.Deployer("install")
	s.setInventory(good)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), "no-such-group", "it was restored", "5 other hosts were not changed")
	if diff := cmp.Diff(before, s.Digests("/var/lib/kubelet/config.yaml", nodes)); diff != "" {
		s.T.Errorf("the kubelet's configuration (- before, + after):\n%s", diff)
	}
	s.RequireReady(nodes)
}

// badAPIServerValue sets a flag with which an API server ends at its start: the run
// stops at the first master, which is restored, and no other process restarts.
func badAPIServerValue(s *site) {
	const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	good := s.inventory()
	before, running := s.Digests(manifest, masters), s.processes(nodes...)
	servers := map[string]string{}
	for _, m := range masters {
		servers[m] = s.Shell(m, "pidof kube-apiserver")
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["egress-selector-config-file"] = "/no-such-file.yaml"
	})
	o := s.Deployer("install")
	s.setInventory(good)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), "no-such-file.yaml", "it was restored")
	if diff := cmp.Diff(before, s.Digests(manifest, masters)); diff != "" {
		s.T.Errorf("the manifests (- before, + after):\n%s", diff)
	}
	restarted := 0
	for m, was := range servers {
		if s.Shell(m, "pidof kube-apiserver") != was {
			restarted++
		}
	}
	if restarted != 1 {
		s.T.Errorf("the API servers of %d masters have restarted, want that of the first", restarted)
	}
	// The leaders among the others end when they lose the API server of their master.
	s.requireProcesses(running, "with the bad flag", "kube-apiserver", "kube-controller", "kube-scheduler")
	s.unchanged("without the bad value")
}

// containerdValue sets a value of containerd while a pod with a host port answers,
// and reverts the run. containerd restarts, and no container does.
func containerdValue(s *site) {
	good := s.inventory()
	pod := s.hostPortPod("n1")
	running := s.processes(nodes...)
	started := s.containers()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "containerd")["max_container_log_line_size"] = 32768
	})
	s.Must("install")
	s.Must("revert", s.LastRun().Run, "--yes")
	s.setInventory(good)
	s.requireProcesses(running, "with the value and its revert", "containerd")
	if diff := cmp.Diff(started, s.containers()); diff != "" {
		s.T.Errorf("the containers of the nodes' pods (- before, + after):\n%s", diff)
	}
	pod.requireAnswers()
	s.Kubectl("m1", "delete namespace host-port")
	s.unchanged("after the revert")
}

// hostPort is a pod that answers at port 18080 of its node.
type hostPort struct {
	s    *site
	node string
}

// hostPortPod starts a pod with a host port on a node.
func (s *site) hostPortPod(node string) hostPort {
	s.T.Helper()
	s.Shell("m1", fmt.Sprintf(`cat > /tmp/host-port.yaml <<'EOF'
apiVersion: v1
kind: Namespace
metadata:
  name: host-port
  labels: {pod-security.kubernetes.io/enforce: privileged} # the level baseline has no host ports
---
apiVersion: v1
kind: Pod
metadata: {name: host-port, namespace: host-port}
spec:
  nodeName: %s
  terminationGracePeriodSeconds: 1
  containers: [{name: web, image: %s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"], ports: [{containerPort: 8080, hostPort: 18080}]}]
EOF
kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /tmp/host-port.yaml`, node, s.ProbeImage(node)))
	s.Kubectl("m1", "wait -n host-port --for=condition=Ready pod/host-port --timeout=60s")
	p := hostPort{s, node}
	p.requireAnswers()
	return p
}

// requireAnswers requests the pod from another node.
func (p hostPort) requireAnswers() {
	p.s.T.Helper()
	url := "http://" + p.s.Address(p.node) + ":18080/hostname"
	p.s.Eventually(30*time.Second, url+" answers", func() error {
		_, err := p.s.SSH(p.s.T.Context(), "m1", "curl -fsS --max-time 3 "+url)
		return err
	})
}

// containers returns the containers of all pods by name, with their numbers of
// restarts.
func (s *site) containers() string {
	s.T.Helper()
	return s.Kubectl("m1", `get pods -A --field-selector status.phase=Running -o 'jsonpath={range .items[*]}{.spec.nodeName} {.metadata.name}{range .status.containerStatuses[*]} {.containerID} {.restartCount}{end}{"\n"}{end}' | grep -v probe | sort`)
}

// badImage changes the image in the API server's manifest of a master by hand to one
// that does not exist. Clients use the other masters meanwhile; install restores the
// manifest.
func badImage(s *site) {
	const manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	before := s.Digests(manifest, []string{"m2"})
	s.Shell("m2", `sed -i 's,image: .*,image: "registry.k8s.io/kube-apiserver:v1.36.99",' `+manifest)
	s.Eventually(90*time.Second, "the API server of m2 ends", func() error {
		out, err := s.SSH(s.T.Context(), "m2", "! pidof kube-apiserver")
		if err != nil {
			return err
		}
		_ = out
		return nil
	})
	s.Must("install")
	if diff := cmp.Diff(before, s.Digests(manifest, []string{"m2"})); diff != "" {
		s.T.Errorf("the manifest (- before, + after install):\n%s", diff)
	}
	s.Shell("m2", "pidof kube-apiserver")
	s.Must("verify")
}

// changeKills is the number of random instants at which a change of the configuration is
// killed.
const changeKills = 3

// killedChange kills the controller of a change when the first node has it, and that of its
// continuation at random instants. Another run completes it.
func killedChange(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "kubelet")["maxPods"] = 121
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["event-ttl"] = "3h"
	})
	u := s.StartRun("install")
	u.Until("the first change", changed)
	u.Kill()
	for range changeKills {
		if s.KillAfter(time.Duration(s.suite.random.Int64N(int64(20*time.Second))), "resume") == 0 {
			break // the run ended before
		}
	}
	s.Must("install")
	for _, n := range nodes {
		if got := s.Kubectl("m1", "get node "+n+" -o 'jsonpath={.status.capacity.pods}'"); got != "121" {
			s.T.Errorf("%s may run %s pods, want 121", n, got)
		}
	}
	s.RequireReady(nodes)
	s.setInventory(good)
	s.Must("install")
	s.unchanged("after the change was taken back")
}

// twoDeployers starts an install while another one changes hosts: the second is refused
// and names the first.
func twoDeployers(s *site) {
	good := s.inventory()
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "overrides", "apiserver", "extra_args")["event-ttl"] = "4h"
	})
	u, id := s.StartRun("install"), ""
	u.Until("the first change", func(e map[string]any) bool {
		if e["type"] == "run.start" {
			id, _ = e["text"].(string)
		}
		return changed(e)
	})
	second := s.OtherController()
	o := second.Deployer("install")
	s.RequireExit(o, 4)
	s.RequireTexts(o.All(), "run "+id+" (install) by ", " holds the lock on ")
	if first := u.Wait(); first.Code != 0 {
		s.T.Errorf("the first install: exit %d\n%s", first.Code, first.All())
	}
	s.setInventory(good)
	s.Must("install")
	s.unchanged("after the change was taken back")
}

// inventory returns the text of the inventory.
func (s *site) inventory() []byte {
	s.T.Helper()
	text, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	return text
}

// setInventory writes a text to the inventory.
func (s *site) setInventory(text []byte) {
	s.T.Helper()
	if err := os.WriteFile(s.Inventory, text, 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// ready returns an error that names the nodes that are not Ready.
func (s *site) ready() error {
	out, err := s.SSH(s.T.Context(), "m1", `kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | grep -v ' Ready ' || true`)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(out); text != "" {
		return errNotReady(text)
	}
	return nil
}

type errNotReady string

// Error implements error.
func (e errNotReady) Error() string { return "not Ready: " + string(e) }
