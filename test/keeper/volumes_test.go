//go:build lab

package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// Times after the network of a node was cut. Kubernetes alone deletes the pod after 50 s and 5 min, and detaches its volume
// 6 min after it was force-deleted.
const (
	recoveryLimit = 7 * time.Minute  // until the pod with the volume runs elsewhere
	watched       = 14 * time.Minute // while the volume must stay
)

// attachable is a volume of the driver in ./csidriver, and a pod that writes to it.
const attachable = `apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: volumes.deployer.test}
spec: {attachRequired: true, podInfoOnMount: false}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  claimRef: {namespace: default, name: data}
  csi: {driver: volumes.deployer.test, volumeHandle: data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: data
  resources: {requests: {storage: 1Gi}}
---
apiVersion: apps/v1
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
      volumes:
      - {name: data, persistentVolumeClaim: {claimName: data}}
      containers:
      - name: main
        image: IMAGE
        imagePullPolicy: Never
        args: [probe, serve, --listen, ":8080"]
        volumeMounts: [{name: data, mountPath: /data}]
`

// TestVolumes cuts the network of a node with a pod that has a volume, while the machine runs. While the hook that switches
// it off fails, the volume stays; when it succeeds, the pod runs elsewhere. Attachment and detachment are decided by
// Kubernetes; the driver and its attacher are those of the test.
func TestVolumes(t *testing.T) {
	s := &site{harness.New(t, "keeper-volumes", plan.Spec{Masters: 1, Minions: 2})}
	s.Must("install")
	s.startDriver("n1", "n2")
	s.Shell("m1", "cat > /root/volume.yaml <<'EOF'\n"+strings.Replace(attachable, "IMAGE", s.ProbeImage("m1"), 1)+"EOF")
	s.Kubectl("m1", "label node n1 n2 once=true")
	s.Kubectl("m1", "apply -f /root/volume.yaml")

	power := s.powerSwitch()
	s.step("the volume stays while the machine may run", func() { s.volumeStays(power) })
	s.step("the machine is switched off", func() { s.volumeMoves(power) })
}

// startDriver starts the driver on nodes, and attaches volumes.
func (s *site) startDriver(nodes ...string) {
	s.T.Helper()
	program := filepath.Join(s.T.TempDir(), "csidriver")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./csidriver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		s.T.Fatalf("%v\n%s", err, out)
	}
	for _, node := range nodes {
		s.CopyTo(node, program, "/usr/local/sbin/csidriver", "0755")
		s.Shell(node, "printf '[Service]\\nExecStart=/usr/local/sbin/csidriver "+node+"\\nRestart=always\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/csidriver.service && systemctl daemon-reload && systemctl enable --now csidriver 2>&1")
	}
	ctx, cancel := context.WithCancel(s.T.Context())
	var attacher sync.WaitGroup
	attacher.Go(func() {
		for ctx.Err() == nil {
			_, _ = s.SSH(ctx, "m1", `export KUBECONFIG=/etc/kubernetes/admin.conf
for a in $(kubectl get volumeattachments -o 'jsonpath={range .items[?(@.status.attached==false)]}{.metadata.name}{"\n"}{end}'); do
  kubectl patch volumeattachment $a --subresource=status --type merge -p '{"status":{"attached":true}}'
done`)
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
	})
	s.T.Cleanup(func() {
		cancel()
		attacher.Wait()
	})
}

// attached returns the nodes to which the volume is attached.
func (s *site) attached() string {
	s.T.Helper()
	return s.Kubectl("m1", "get volumeattachments -o 'jsonpath={.items[*].spec.nodeName}'")
}

// running waits until the pod runs, and returns its node.
func (s *site) running(limit time.Duration, not string) (node string) {
	s.T.Helper()
	s.Eventually(limit, "the pod with the volume runs", func() (err error) {
		if node, _, err = s.onceOn(); err == nil && node == not {
			err = fmt.Errorf("it is on %s", node)
		}
		return err
	})
	return node
}

// powerSwitch starts a power switch, and makes it the hook of the keeper.
func (s *site) powerSwitch() *powerSwitch {
	s.T.Helper()
	power := &powerSwitch{site: s}
	listener, err := s.Listen(net.JoinHostPort(plan.Controller().String(), "0"))
	if err != nil {
		s.T.Fatal(err)
	}
	server := &http.Server{Handler: power, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	s.T.Cleanup(func() { _ = server.Close() })
	s.set(func(k map[string]any) {
		k["fence"] = map[string]any{"hooks": []any{map[string]any{"name": "power", "url": "http://" + listener.Addr().String() + "/off"}}}
	})
	s.Must("install")
	return power
}

func (s *site) volumeStays(power *powerSwitch) {
	node := s.running(2*time.Minute, "")
	power.works(false)
	if err := s.Partition(s.T.Context(), node); err != nil {
		s.T.Fatal(err)
	}
	cut := time.Now()
	for time.Since(cut) < watched {
		time.Sleep(5 * time.Second)
		if on, _, err := s.onceOn(); err == nil && on != node {
			s.T.Fatalf("the pod runs on %s after %.0f s, while the machine of %s may write to its volume", on, time.Since(cut).Seconds(), node)
		}
		if got := s.attached(); got != node {
			s.T.Fatalf("the volume is attached to %q after %.0f s, while the machine of %s may write to it", got, time.Since(cut).Seconds(), node)
		}
	}
	if calls := power.calls(); calls < 2 {
		s.T.Errorf("the hook was called %d times, want a repetition", calls)
	}
	s.RequireTexts(s.Deployer("keeper", "status").All(), "switch off the machine of node "+node, "its hooks did not succeed")
	if err := s.Heal(s.T.Context(), node); err != nil {
		s.T.Fatal(err)
	}
	s.RequireReady([]string{"m1", "n1", "n2"})
	s.running(8*time.Minute, "")
}

func (s *site) volumeMoves(power *powerSwitch) {
	power.works(true)
	node := s.running(2*time.Minute, "")
	if err := s.Partition(s.T.Context(), node); err != nil {
		s.T.Fatal(err)
	}
	cut := time.Now()
	s.running(recoveryLimit, node)
	took := time.Since(cut)
	recoveredMax = max(recoveredMax, took)
	s.T.Logf("the pod with the volume ran elsewhere after %.0f s", took.Seconds())
	if took > recoveryLimit {
		s.T.Errorf("the pod with the volume ran elsewhere after %s, want at most %s", took, recoveryLimit)
	}
	if off, before := power.heard(); off != node || !strings.Contains(before, node) {
		s.T.Errorf("the machine of %q was switched off, and the volume was attached to %q before; want %s for both", off, before, node)
	}
	if got := s.attached(); strings.Contains(got, node) {
		s.T.Errorf("the volume is attached to %q, also to the machine that is off", got)
	}
	s.RequireTexts(s.Kubectl("m1", "get node "+node+" -o jsonpath='{.spec.taints}'"), "node.kubernetes.io/out-of-service", "deployer-keeper")

	if err := s.Start(s.T.Context(), node); err != nil { // with its network
		s.T.Fatal(err)
	}
	s.RequireReady([]string{"m1", "n1", "n2"})
	s.Eventually(time.Minute, "the node takes pods again", func() error {
		if got := s.Kubectl("m1", "get node "+node+" -o jsonpath='{.spec.taints}'"); strings.Contains(got, "out-of-service") {
			return errors.New(got)
		}
		return nil
	})
	s.RequireTexts(strings.Join(s.did(), "\n"), "FenceNode Node "+node+" done", "UnfenceNode Node "+node+" done")
}

// powerSwitch switches machines of the lab off, as a management controller does.
type powerSwitch struct {
	site *site

	mu     sync.Mutex
	broken bool   // it refuses
	called int    // how often
	off    string // the last machine
	before string // where the volume was attached before
}

// works makes the switch work, or refuse.
func (p *powerSwitch) works(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = !yes
}

// calls returns how often it was called.
func (p *powerSwitch) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.called
}

// refuses counts a call, and reports whether the switch refuses.
func (p *powerSwitch) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.called++
	return p.broken
}

func (p *powerSwitch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.refuses() {
		http.Error(w, "the management controller is out of order", http.StatusBadGateway)
		return
	}
	var body struct{ Node string }
	err := json.NewDecoder(r.Body).Decode(&body)
	var before string
	if err == nil {
		before, err = p.site.SSH(r.Context(), "m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf get volumeattachments -o 'jsonpath={.items[*].spec.nodeName}'")
	}
	if err == nil {
		err = p.site.Kill(r.Context(), body.Node)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off, p.before = body.Node, before
}

// heard returns the machine that was switched off last, and where the volume was attached before.
func (p *powerSwitch) heard() (off, before string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off, p.before
}
