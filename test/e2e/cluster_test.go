//go:build lab

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/lab/plan"
)

// TestCluster tests one cluster of three masters and two minions, from bare hosts to the
// loss of a master.
func TestCluster(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 2})
	hosts := []string{"m1", "m2", "m3", "n1", "n2"}

	t.Run("install", func(t *testing.T) {
		s.Must("install")
		for _, h := range hosts {
			if got := s.ReadyStatus("m1", h); got != "True" {
				t.Errorf("node %s: Ready is %q", h, got)
			}
		}
	})
	if t.Failed() {
		return
	}
	// The lab's name server is outside the cluster.
	t.Run("verify", func(t *testing.T) {
		s.Must("verify", "--outside", "n2."+plan.Domain)
		s.on(t).RequireExit(s.Deployer("verify", "--outside", "none.invalid"), 5)
	})
	t.Run("images that the node needs are pinned", func(t *testing.T) {
		pinnedImages(t, s.on(t), "m1", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "pause", "coredns")
		pinnedImages(t, s.on(t), "n1", "haproxy", "kube-proxy", "pause", "coredns")
	})
	t.Run("a node announces what is not its own", func(t *testing.T) { rogueRouter(t, s.on(t), "n1", "m2", "m1", "m3", "n2") })
	t.Run("a session with another password", func(t *testing.T) { signedSessions(t, s.on(t), "n1", "m1") })
	t.Run("service by name from another node", func(t *testing.T) { serviceByName(t, s) })
	t.Run("the audit log has exec and reads of secrets", func(t *testing.T) { auditLogged(t, s.on(t)) })
	t.Run("pods that reach for their node are refused", func(t *testing.T) { podSecurity(t, s.on(t)) })
	t.Run("checks of the CIS benchmark", func(t *testing.T) { benchmark(t, s.on(t), "n1") })
	t.Run("second install changes nothing", func(t *testing.T) {
		before := map[string]string{}
		for _, h := range hosts {
			before[h] = s.Processes(h)
			if !strings.Contains(before[h], "kubelet") {
				t.Fatalf("%s: no kubelet among its processes:\n%s", h, before[h])
			}
		}
		_, r := s.Events(s.Must("install", "--output", "json"))
		if len(r.Hosts) != 5 || r.Changed() != 0 {
			t.Errorf("second install: %d hosts, %d changed; want 5 and 0", len(r.Hosts), r.Changed())
		}
		for _, h := range hosts {
			if diff := cmp.Diff(before[h], s.Processes(h)); diff != "" {
				t.Errorf("%s: processes changed (-before +after):\n%s", h, diff)
			}
		}
	})
	t.Run("diagnose names a stopped unit", func(t *testing.T) { diagnosed(t, s.on(t), "m1", "n1") })
	t.Run("a playbook by a push", func(t *testing.T) { pushes(t, s.on(t)) })
	t.Run("apply restores what differs", func(t *testing.T) { reconciled(t, s.on(t)) })
	t.Run("one value by a plan, and back", func(t *testing.T) { changeOneValue(s.on(t)) })
	t.Run("a bad value stops at one node", func(t *testing.T) { badValues(t, s) })
	t.Run("nodes are drained and come back", func(t *testing.T) { nodeMaintenance(t, s.on(t)) })
	t.Run("the master with etcd's leader dies", func(t *testing.T) {
		s.moveLeader("m2")
		stopMaster(t, s, true)
	})
	t.Run("apply names the dead master", func(t *testing.T) { lostMaster(t, s.on(t), "m2") })
}

// serviceByName runs a Deployment with a Service, and requests it by DNS name from a pod
// on another node. It uses an image and programs that deployer has installed, as the lab
// has no registry.
func serviceByName(t *testing.T, s *site) {
	image := s.Shell("n1", `ctr -n k8s.io images ls -q | grep '^deployer.local/probe:' | head -1`)
	manifest := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeName: n1
      containers: [{name: web, image: %[1]s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  nodeName: n2
  containers: [{name: client, image: %[1]s, imagePullPolicy: Never, args: [probe, serve, --listen, ":8080"]}]
`, image)
	s.Shell("m1", "cat > /tmp/web.yaml <<'EOF'\n"+manifest+"EOF")
	s.Kubectl("m1", "apply -f /tmp/web.yaml")
	s.Kubectl("m1", "rollout status deployment/web --timeout=60s")
	s.Kubectl("m1", "wait --for=condition=Ready pod/client --timeout=60s")
	check := `{"targets":[{"kind":"http","address":"http://web.default.svc.cluster.local/hostname","timeout":"5s"}]}`
	ip := s.Kubectl("m1", "get pod client -o 'jsonpath={.status.podIP}'")
	s.Eventually(30*time.Second, "the service answers by name", func() error {
		out, err := s.SSH(t.Context(), "m1", fmt.Sprintf("curl -sS -X POST -d '%s' http://%s:8080/check", check, ip))
		if err != nil {
			return err
		}
		if !strings.Contains(out, `"ok":true`) {
			return errors.New(out)
		}
		return nil
	})
	s.Kubectl("m1", "delete -f /tmp/web.yaml --wait=false")
}

// stopMaster stops the master m2 hard: writes go on through every minion's proxy, and
// the other nodes stay Ready. When m2 led etcd, writes before the election of a new
// leader may fail with etcd's own error and are repeated; they must succeed within 20
// s. Any other error fails the test, and so does every error when m2 did not lead.
func stopMaster(t *testing.T, s *site, led bool) {
	for _, n := range []string{"n1", "n2"} {
		s.copyAdmin(n)
	}
	if err := s.Kill(t.Context(), "m2"); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	for _, n := range []string{"n1", "n2"} {
		slowest, again := time.Duration(0), 0
		for i := range 10 {
			start := time.Now()
			out, err := s.write(n, fmt.Sprintf("after-%s-%d", n, i))
			for led && err != nil && strings.Contains(out, `"message": "etcdserver: `) && time.Since(died) < 20*time.Second {
				again++
				out, err = s.write(n, fmt.Sprintf("after-%s-%d", n, i))
				// A write that etcd answered with a timeout may have succeeded.
				if strings.Contains(out, `"reason": "AlreadyExists"`) {
					err = nil
				}
			}
			if err != nil {
				t.Errorf("write %d through the proxy of %s, %.1fs after the death: %v\n%s", i, n, time.Since(died).Seconds(), err, out)
			}
			slowest = max(slowest, time.Since(start))
		}
		t.Logf("%s: 10 writes, the slowest took %.1fs, %d were tried again because etcd had no leader", n, slowest.Seconds(), again)
	}
	// The node controller gives a silent node 50 s (node-monitor-grace-period,
	// Kubernetes 1.32 and later); observing it for 75 s shows whether other nodes
	// become NotReady too.
	notReady := map[string]bool{}
	for time.Since(died) < 75*time.Second {
		out := s.Kubectl("m1", `get nodes -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}'`)
		for _, pair := range strings.Fields(out) {
			if name, status, _ := strings.Cut(pair, "="); status != "True" {
				notReady[name] = true
			}
		}
		time.Sleep(time.Second)
	}
	delete(notReady, "m2")
	if len(notReady) > 0 {
		t.Errorf("nodes that were not Ready for a while: %v", slices.Sorted(maps.Keys(notReady)))
	}
}

// moveLeader moves etcd's leadership to the member of a master.
func (s *site) moveLeader(master string) {
	s.T.Helper()
	endpoint := func(host string) string { return "https://" + s.Address(host) + ":2379" }
	const pki = "/etc/kubernetes/pki/"
	etcdctl := "etcdctl --cacert " + pki + "etcd/ca.crt --cert " + pki + "apiserver/apiserver-etcd-client.crt --key " + pki + "apiserver/apiserver-etcd-client.key" +
		" --endpoints " + strings.Join([]string{endpoint("m1"), endpoint("m2"), endpoint("m3")}, ",")
	leads := func() (leader, member uint64) {
		var all []struct {
			Endpoint string
			Status   struct {
				Header struct {
					Member uint64 `json:"member_id"`
				}
				Leader uint64
			}
		}
		out := s.Shell("m1", etcdctl+" endpoint status -w json")
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			s.T.Fatalf("etcdctl endpoint status: %v\n%s", err, out)
		}
		for _, e := range all {
			if e.Endpoint == endpoint(master) {
				return e.Status.Leader, e.Status.Header.Member
			}
		}
		s.T.Fatalf("etcdctl knows no endpoint %s:\n%s", endpoint(master), out)
		return 0, 0
	}
	if leader, member := leads(); leader != member {
		s.Shell("m1", etcdctl+fmt.Sprintf(" move-leader %x", member))
	}
	s.Eventually(10*time.Second, master+" leads etcd", func() error {
		if leader, member := leads(); leader != member {
			return fmt.Errorf("member %x leads, not %x", leader, member)
		}
		return nil
	})
}

// copyAdmin copies the admin certificate to a minion, for requests through its local
// proxy.
func (s *site) copyAdmin(minion string) {
	s.T.Helper()
	for _, ext := range []string{"crt", "key"} {
		pem := s.Shell("m1", "cat /etc/kubernetes/pki/admin."+ext)
		s.Shell(minion, "umask 077; cat > /root/admin."+ext+" <<'EOF'\n"+pem+"\nEOF")
	}
}

// write creates a ConfigMap through the proxy of a minion.
func (s *site) write(minion, name string) (string, error) {
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
	return s.SSH(s.T.Context(), minion, "curl -sS --fail-with-body --max-time 20 --cacert /etc/kubernetes/pki/ca.crt --cert /root/admin.crt --key /root/admin.key "+
		"-H 'Content-Type: application/json' -d '"+body+"' https://127.0.0.1:6443/api/v1/namespaces/default/configmaps")
}
