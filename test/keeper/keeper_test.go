//go:build lab

package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"deployer/keeper/decide"
	"deployer/runs"
	"deployer/test/harness"
	"deployer/test/lab/plan"
)

var (
	scenarios, passed int
	recoveredMax      time.Duration // until the pods of a dead node ran elsewhere
	movedMax          time.Duration // from a reboot until the pod of the host ran elsewhere
	withoutAPIMax     time.Duration // of a shutdown without the API
	memoryMax         float64       // of a keeper, resident, in MB
	failedWrites      int           // of clients while keepers renewed certificates and replaced members
)

// site is a cluster with keepers.
type site struct{ *harness.Site }

var masters = []string{"m1", "m2", "m3"}

// Times of the settings. Kubernetes needs 40 s until a node is Unknown.
const (
	unknownFor     = time.Minute
	unreachableFor = 5 * time.Minute
)

// TestKeeper leaves a cluster alone with its keepers: somebody works on a node, a node dies with a pod that
// must exist once, and never comes back, etcd becomes full, keepers end, people pause them.
func TestKeeper(t *testing.T) {
	s := &site{harness.New(t, "keeper", plan.Spec{Masters: 3, Minions: 3})}
	s.set(func(k map[string]any) {
		k["enabled"], k["interval"] = true, "5s"
		k["clear"] = map[string]any{"unknown_for": unknownFor.String(), "terminating_for": "10s"}
		k["purge"] = map[string]any{"enabled": false, "unreachable_for": unreachableFor.String()}
	})
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.Must("verify")

	s.step("one keeper leads, and all are small", s.healthy)
	s.step("somebody works on a node", s.maintenance)
	s.step("a paused keeper does nothing, a resumed one acts", s.paused)
	s.step("the leader ends", s.leaderEnds)
	s.step("the configuration is bad", s.badConfiguration)
	s.step("somebody edits a file", s.drifted)
	s.step("etcd is full", s.etcdFull)
	s.step("a node dies", s.nodeDies)
	s.step("the dead node leaves", s.nodeLeaves)
	s.step("a node joins", s.nodeJoins)
	s.step("the keeper is switched off", s.switchedOff)
}

func (s *site) step(name string, do func()) {
	s.T.Helper()
	scenarios++
	began := time.Now()
	do()
	s.T.Logf("%s: %.0f s", name, time.Since(began).Seconds())
	if s.T.Failed() {
		s.T.FailNow()
	}
	passed++
}

// set changes cluster.keeper in the inventory.
func (s *site) set(f func(keeper map[string]any)) {
	s.Edit(func(inv map[string]any) { f(harness.Section(inv, "cluster", "keeper")) })
}

// state returns what the keepers say, and the exit code of the command.
func (s *site) state() (runs.KeeperState, harness.Outcome) {
	s.T.Helper()
	out := s.Deployer("keeper", "status", "-o", "json")
	var state runs.KeeperState
	if err := json.Unmarshal([]byte(out.Stdout), &state); err != nil {
		s.T.Fatalf("deployer keeper status: %v\n%s", err, out.All())
	}
	return state, out
}

// leader returns the host of the keeper that leads; empty without one.
func (s *site) leader() string {
	holder := s.Kubectl("m1", "-n kube-system get lease deployer-keeper -o jsonpath={.spec.holderIdentity}")
	return strings.TrimSpace(holder)
}

// healthy checks status, memory, metrics and the rights of the keepers.
func (s *site) healthy() {
	s.Eventually(90*time.Second, "a keeper leads, and all write a status", func() error {
		state, out := s.state()
		if out.Code != 0 || len(state.Keepers) != 3 || s.leader() == "" {
			return fmt.Errorf("exit code %d, leader %q:\n%s", out.Code, s.leader(), out.All())
		}
		return nil
	})
	for _, m := range masters {
		s.small(m)
	}
	metrics := s.Shell(s.leader(), "curl -sf http://127.0.0.1:10275/metrics")
	s.RequireTexts(metrics, "deployer_keeper_leader 1", `deployer_keeper_condition{type="Degraded"} 0`, `deployer_keeper_passes_total{result="ok"}`)
	for _, verb := range []string{"get secrets -A", "create pods -n default", "delete namespaces", "update nodes", "get configmaps -n default"} {
		if got := s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf auth can-i --as deployer:keeper "+verb+" || true"); strings.TrimSpace(got) != "no" {
			s.T.Errorf("may the keeper %s: %s", verb, got)
		}
	}
}

// small checks the memory of a keeper.
func (s *site) small(host string) {
	text := s.Shell(host, "ps -C deployer-keeper -o rss=")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		s.T.Fatalf("memory of the keeper on %s: %v", host, err)
	}
	megabytes := float64(kilobytes) / 1024
	memoryMax = max(memoryMax, megabytes)
	if megabytes > 60 {
		s.T.Errorf("the keeper on %s has %.0f MB of memory, want at most 60", host, megabytes)
	}
}

// once is a pod that exists once, which leaves a node soon after it is Unknown.
const once = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: once, namespace: default}
spec:
  serviceName: once
  replicas: 1
  selector: {matchLabels: {app: once}}
  template:
    metadata: {labels: {app: once}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {once: "true"}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
      containers:
      - {name: main, image: IMAGE, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}
`

// startOnce starts the pod, and returns its node.
func (s *site) startOnce(nodes ...string) string {
	s.T.Helper()
	s.Kubectl("m1", "label --overwrite node "+strings.Join(nodes, " ")+" once=true")
	s.Shell("m1", "cat > /root/once.yaml <<'EOF'\n"+strings.Replace(once, "IMAGE", s.ProbeImage("m1"), 1)+"EOF")
	s.Kubectl("m1", "apply -f /root/once.yaml")
	var node string
	s.Eventually(time.Minute, "the pod runs", func() (err error) {
		node, _, err = s.onceOn()
		return err
	})
	return node
}

// onceOn returns node and UID of the pod when it is Ready there.
func (s *site) onceOn() (node, uid string, err error) {
	text := s.Kubectl("m1", `get pod once-0 --ignore-not-found -o jsonpath='{.spec.nodeName} {.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}'`)
	words := strings.Fields(text)
	if len(words) != 3 || words[2] != "True" {
		return "", "", fmt.Errorf("pod once-0: %q", text)
	}
	return words[0], words[1], nil
}

// maintenance stops a kubelet for longer than Kubernetes waits, with the mark: no pod moves. Without the
// mark the pod is deleted, and the keeper does not clear it, because its host answers.
func (s *site) maintenance() {
	node := s.startOnce("n1")
	_, uid, _ := s.onceOn()
	s.Must("node", "maintenance", node, "--for", "10m", "--reason", "test")
	s.RequireTexts(s.Kubectl("m1", "get node "+node+" -o yaml"), "deployer/maintenance", "reason")
	s.Shell(node, "systemctl stop kubelet")
	for end := time.Now().Add(150 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Second) {
		if now := s.ReadyStatus("m1", node); now != "True" {
			s.T.Fatalf("node %s is in maintenance, and its condition Ready is %s", node, now)
		}
	}
	if _, now, err := s.onceOn(); err != nil || now != uid {
		s.T.Fatalf("the pod of a node in maintenance was %s, and is %s: %v", uid, now, err)
	}
	s.Must("node", "maintenance", node, "--end")
	s.Eventually(3*time.Minute, "the keeper says why it does not clear the pod of a host that answers", func() error {
		_, out := s.state()
		if !strings.Contains(out.Stdout, "its host answers, so its pods may run") {
			return errors.New(out.Stdout)
		}
		return nil
	})
	if deleted := s.Kubectl("m1", "get pod once-0 -o jsonpath={.metadata.deletionTimestamp}"); strings.TrimSpace(deleted) == "" {
		s.T.Error("without the mark Kubernetes has not deleted the pod, so the mark proves nothing")
	}
	s.Shell(node, "systemctl start kubelet")
	s.RequireReady([]string{node})
}

// paused pauses the keepers; they say so.
func (s *site) paused() {
	s.Must("keeper", "pause", "--for", "1h", "--reason", "test of the pause")
	s.Eventually(time.Minute, "the keepers are paused", func() error {
		if _, out := s.state(); strings.Count(out.Stdout, "test of the pause") < 4 { // the pause, and three keepers
			return errors.New(out.Stdout)
		}
		return nil
	})
	s.Must("keeper", "resume")
	s.Eventually(time.Minute, "the keepers act again", func() error {
		if state, out := s.state(); state.Pause != nil || strings.Contains(out.Stdout, "test of the pause") {
			return errors.New(out.Stdout)
		}
		return nil
	})
}

// did returns what the keepers did, by deployer runs keeper, each as "ACTION OBJECT RESULT".
func (s *site) did() []string {
	s.T.Helper()
	out := s.Deployer("runs", "keeper", "-i", s.Inventory, "-n", "100", "-o", "json")
	var actions []runs.KeeperAction
	if err := json.Unmarshal([]byte(out.Stdout), &actions); err != nil {
		s.T.Fatalf("deployer runs keeper: %v\n%s", err, out.All())
	}
	var list []string
	for _, a := range actions {
		list = append(list, a.Action+" "+a.Object+" "+a.Result)
	}
	return list
}

// leaderEnds kills the leader: another leads.
func (s *site) leaderEnds() {
	was := s.leader()
	s.Shell(was, "systemctl kill -s KILL deployer-keeper; systemctl stop deployer-keeper")
	s.Eventually(2*time.Minute, "another keeper leads", func() error {
		if now := s.leader(); now == was || now == "" {
			return fmt.Errorf("the leader is %q", now)
		}
		return nil
	})
	s.Shell(was, "systemctl start deployer-keeper")
}

// badConfiguration breaks the file of the leader: it says so, does nothing, and goes on when the file is
// good again.
func (s *site) badConfiguration() {
	host := s.leader()
	s.Shell(host, "cp -p /etc/deployer/keeper.yaml /root/keeper.yaml && sed -i 's/^keeper:.*/keeper: {clear: {unknown_fro: 1h}}/' /etc/deployer/keeper.yaml")
	s.Eventually(time.Minute, "the keeper names the mistake", func() error {
		log := s.Shell(host, "journalctl -u deployer-keeper -n 5 -o cat")
		if !strings.Contains(log, "unknown_for") || !strings.Contains(log, "keeper.yaml:") {
			return errors.New(log)
		}
		return nil
	})
	if state, out := s.state(); out.Code != 5 || !slices.ContainsFunc(state.Keepers[host].Problems, func(p decide.Problem) bool { return p.Reason == decide.BadConfiguration }) {
		s.T.Errorf("keeper status: exit code %d\n%s", out.Code, out.Stdout)
	}
	s.Eventually(2*time.Minute, "another keeper leads", func() error {
		if leader := s.leader(); leader == host {
			return errors.New(host + " still leads")
		}
		return nil
	})
	s.Shell(host, "cp -p /root/keeper.yaml /etc/deployer/keeper.yaml")
	s.Eventually(time.Minute, "all keepers are well", func() error {
		if _, out := s.state(); out.Code != 0 {
			return errors.New(out.Stdout)
		}
		return nil
	})
}

// drifted edits a file that deployer wrote: the keeper of the host names it, until a run puts it back.
func (s *site) drifted() {
	const unit = "/etc/systemd/system/deployer-keeper.service"
	s.Shell("m2", "echo '# by hand' >> "+unit+" && systemctl daemon-reload && systemctl restart deployer-keeper")
	s.Eventually(2*time.Minute, "the keeper names the file", func() error {
		if _, out := s.state(); out.Code != 5 || !strings.Contains(out.Stdout, unit+" (its content has changed since run") {
			return errors.New(out.Stdout)
		}
		return nil
	})
	s.Must("install")
	s.Eventually(4*time.Minute, "nothing differs", func() error {
		if _, out := s.state(); out.Code != 0 {
			return errors.New(out.Stdout)
		}
		return nil
	})
}

// nodeDies cuts the power of a node with the pod, which must not run twice: the keeper clears it, and it
// runs elsewhere.
func (s *site) nodeDies() {
	s.Kubectl("m1", "delete -f /root/once.yaml")
	s.Kubectl("m1", "label node n1 once-")
	node := s.startOnce("n3")
	s.Kubectl("m1", "label node n2 once=true")
	_, uid, _ := s.onceOn()
	died := time.Now()
	if err := s.Lab.Kill(s.T.Context(), node); err != nil {
		s.T.Fatal(err)
	}
	s.Eventually(7*time.Minute, "the pod runs on another node", func() error {
		if on, now, err := s.onceOn(); err != nil || now == uid || on == node {
			return fmt.Errorf("%s %s %w", on, now, err)
		}
		return nil
	})
	took := time.Since(died)
	recoveredMax = max(recoveredMax, took)
	s.T.Logf("the pod ran elsewhere after %.0f s", took.Seconds())
	state, out := s.state()
	s.RequireExit(out, 5)
	var done []string
	for _, k := range state.Keepers {
		for _, d := range k.Done {
			done = append(done, d.Action+" "+d.Object+" "+d.Result)
		}
	}
	if !slices.Contains(done, "ForceDeletePod Pod default/once-0 done") {
		s.T.Errorf("the keepers did %q", done)
	}
	s.RequireTexts(s.Kubectl("m1", "get events -A --field-selector source=deployer-keeper"), "ForceDeletePod", "pod/once-0")
	for _, m := range masters { // a keeper that starts anew knows what its host's keeper did
		s.Shell(m, "systemctl restart deployer-keeper")
	}
	if list := s.did(); !slices.Contains(list, "ForceDeletePod Pod default/once-0 done") {
		s.T.Errorf("deployer runs keeper lists %q", list)
	}
	if got := s.Kubectl("m1", "get nodes -o name"); !strings.Contains(got, "node/"+node) {
		s.T.Errorf("purge is off, and the nodes are %s", got)
	}
}

// etcdFull fills the database: the keepers make it writable, although none of them can hold the lease.
func (s *site) etcdFull() {
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "etcd")["quota_backend_bytes"] = 96 << 20 })
	s.Must("install")
	out := s.Shell("m1", "for i in $(seq 200); do head -c 700000 /dev/urandom | base64 -w0 | "+etcdctl+"put /deployer-test/filler 2>&1 >/dev/null || exit 0; done")
	s.RequireTexts(out, "database space exceeded")
	began := time.Now()
	s.Eventually(8*time.Minute, "the database can be written", func() error {
		said := s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf create configmap database-full 2>&1 || true")
		if !strings.Contains(said, "created") {
			return errors.New(said)
		}
		return nil
	})
	s.T.Logf("the keepers freed the database after %.0f s", time.Since(began).Seconds())
	s.Eventually(time.Minute, "the nodes of the members have an event", func() error {
		events := s.Kubectl("m1", "get events -n default --field-selector reason=FreeEtcdSpace")
		if !strings.Contains(events, "node/m1") || !strings.Contains(events, "node/m2") || !strings.Contains(events, "node/m3") {
			return errors.New(events)
		}
		return nil
	})
	s.Shell("m1", etcdctl+"del /deployer-test/filler")
}

// installMasters installs while a minion is dead, which the run tolerates and reports.
func (s *site) installMasters() {
	s.T.Helper()
	s.Edit(func(inv map[string]any) { inv["max_fail"] = map[string]any{"minion": 1} })
	out := s.Deployer("install")
	s.RequireExit(out, 3)
	s.RequireTexts(out.All(), "n3")
}

// nodeLeaves switches the purge on: the dead node leaves, after its hooks.
func (s *site) nodeLeaves() {
	for _, m := range masters {
		s.Shell(m, "printf '#!/bin/sh\\necho $DEPLOYER_PHASE $DEPLOYER_NODE >> /root/hooks\\n' > /root/hook && chmod 0755 /root/hook")
	}
	s.set(func(k map[string]any) {
		k["purge"] = map[string]any{"enabled": true, "unreachable_for": unreachableFor.String(), "min_ready_minions": 3,
			"pre_remove": []any{map[string]any{"name": "storage", "command": []any{"/root/hook"}}}, "post_remove": []any{map[string]any{"name": "power", "command": []any{"/root/hook"}}}}
		k["post_add"] = []any{map[string]any{"name": "disks", "command": []any{"/root/hook"}}}
	})
	s.installMasters()
	s.Eventually(8*time.Minute, "the minimum of minions keeps the node", func() error {
		if _, out := s.state(); !strings.Contains(out.Stdout, "min_ready_minions is 3") {
			return errors.New(out.Stdout)
		}
		return nil
	})
	s.set(func(k map[string]any) { harness.Section(k, "purge")["min_ready_minions"] = 1 })
	s.installMasters()
	s.Eventually(3*time.Minute, "the node leaves", func() error {
		if got := s.Kubectl("m1", "get nodes -o name"); strings.Contains(got, "node/n3") {
			return errors.New(got)
		}
		return nil
	})
	if got := s.hooks(); got != "pre_remove n3\npost_remove n3" {
		s.T.Errorf("the hooks ran as %q", got)
	}
	if list := s.did(); !slices.Contains(list, "PurgeNode Node n3 done") {
		s.T.Errorf("deployer runs keeper lists %q", list)
	}
}

// hooks returns what the hook of all masters wrote.
func (s *site) hooks() string {
	var out strings.Builder
	for _, m := range masters {
		out.WriteString(s.Shell(m, "cat /root/hooks 2>/dev/null || true"))
	}
	return strings.TrimSpace(out.String())
}

// nodeJoins replaces the Node of a minion, as of a machine that joins anew: its hook runs once, and none ran for the
// nodes that there were when hooks were set.
func (s *site) nodeJoins() {
	s.Kubectl("m1", "delete node n2")
	s.Shell("n2", "systemctl restart kubelet")
	s.Eventually(time.Minute, "the kubelet has registered n2 anew", func() error {
		if s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-node-lease get lease n2 -o name 2>/dev/null || true") == "" {
			return errors.New("it has no Lease")
		}
		return nil
	})
	s.RequireReady([]string{"n2"})
	s.Eventually(2*time.Minute, "the hook has run for the node that joined", func() error {
		if got := s.hooks(); !strings.HasSuffix(got, "post_add n2") {
			return errors.New(got)
		}
		return nil
	})
	for range 4 { // passes
		time.Sleep(5 * time.Second)
		if got := s.hooks(); strings.Count(got, "post_add") != 1 {
			s.T.Fatalf("the hooks ran as %q", got)
		}
	}
}

// switchedOff removes the keepers: nothing of them stays.
func (s *site) switchedOff() {
	s.set(func(k map[string]any) { k["enabled"] = false })
	s.installMasters()
	for _, m := range masters {
		if left := s.Shell(m, "ls /var/lib/deployer/keeper-actions.jsonl* /etc/deployer/keeper.yaml /etc/systemd/system/deployer-keeper.service 2>/dev/null; pgrep -x deployer-keeper || true"); strings.TrimSpace(left) != "" {
			s.T.Errorf("%s has still %s", m, left)
		}
	}
}
