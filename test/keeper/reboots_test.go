//go:build lab

package keeper

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// Timeouts of the reboot unit.
const (
	evictTimeout   = 40 * time.Second
	unmountTimeout = 20 * time.Second
)

// TestReboots: hosts shut down by their own systemd while a pod with a volume runs on them.
func TestReboots(t *testing.T) {
	s := &site{harness.New(t, "keeper", plan.Spec{Masters: 1, Minions: 2})}
	s.set(func(k map[string]any) {
		k["reboots"] = map[string]any{"enabled": true, "evict_timeout": evictTimeout.String(), "unmount_timeout": unmountTimeout.String()}
	})
	s.Must("install")
	s.RequireTexts(s.Must("install").All(), "0 changed")
	s.startVolume()

	s.step("the unit restarts", s.unitRestarts)
	s.step("a node reboots", s.nodeReboots)
	s.step("a node that a person has cordoned reboots", s.cordonedNodeReboots)
	s.step("the master reboots", s.masterReboots)
	s.step("a budget keeps the pod", s.budgetKeepsThePod)
	s.step("a node reboots without the API", s.rebootsWithoutAPI)
	s.step("reboot units are switched off", s.rebootsSwitchedOff)
}

// volume is a pod with a volume of a claim, which any node can mount.
const volume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: volume}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteMany]
  storageClassName: none
  hostPath: {path: /root/volume, type: DirectoryOrCreate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: volume, namespace: default}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: none
  resources: {requests: {storage: 1Mi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: volume, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: volume}}
  template:
    metadata: {labels: {app: volume}}
    spec:
      terminationGracePeriodSeconds: 2
      nodeSelector: {volume: "true"}
      containers:
      - name: main
        image: IMAGE
        imagePullPolicy: Never
        args: [probe, serve, --listen, ":8080"]
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: volume}}]
`

// startVolume starts the pod on n1; n2 may run it later.
func (s *site) startVolume() {
	s.Kubectl("m1", "label node n1 volume=true")
	s.Shell("m1", "cat > /root/volume.yaml <<'EOF'\n"+strings.Replace(volume, "IMAGE", s.ProbeImage("m1"), 1)+"EOF")
	s.Kubectl("m1", "apply -f /root/volume.yaml")
	s.requireVolumeOn("n1", 2*time.Minute)
	s.Kubectl("m1", "label node n2 volume=true")
}

// requireVolumeOn waits until the only pod that is not ending runs on a node.
func (s *site) requireVolumeOn(node string, limit time.Duration) {
	s.T.Helper()
	s.Eventually(limit, "the pod runs on "+node, func() error {
		text := s.Kubectl("m1", `get pods -l app=volume -o jsonpath='{range .items[*]}{.spec.nodeName} {.status.conditions[?(@.type=="Ready")].status} {.metadata.deletionTimestamp}{"\n"}{end}'`)
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == node+" True" {
				return nil
			}
		}
		return errors.New(text)
	})
}

func (s *site) volumeUID() string {
	return s.Kubectl("m1", "get pods -l app=volume -o jsonpath={.items[*].metadata.uid}")
}

// unitRestarts restarts and stops the unit while the machine stays up: nothing is evicted or cordoned.
func (s *site) unitRestarts() {
	before := s.volumeUID()
	s.Shell("n1", "systemctl restart deployer-reboot && systemctl stop deployer-reboot && systemctl start deployer-reboot")
	s.RequireTexts(s.Shell("n1", "journalctl -b -u deployer-reboot -o cat"), "the machine stays up")
	if now := s.volumeUID(); now != before {
		s.T.Errorf("the pod was %s, and is %s", before, now)
	}
	s.RequireSchedulable("n1", "after a restart of the unit")
}

// reboot reboots a host, and returns the time that it took to go down.
func (s *site) reboot(host string, beforeBoot func()) time.Duration {
	s.T.Helper()
	began := time.Now()
	if err := s.Lab.Shutdown(s.T.Context(), host); err != nil {
		s.T.Fatal(err)
	}
	took := time.Since(began)
	beforeBoot()
	if err := s.Lab.Start(s.T.Context(), host); err != nil {
		s.T.Fatal(err)
	}
	return took
}

// lastShutdown returns what the unit said before the last boot of a host.
func (s *site) lastShutdown(host string) string {
	return s.Shell(host, "journalctl -b -1 -u deployer-reboot -o cat")
}

// nodeReboots: the pod leaves before the host is down, and runs elsewhere long before Kubernetes would
// move it; the node is cordoned meanwhile.
func (s *site) nodeReboots() {
	began := time.Now()
	down := s.reboot("n1", func() {
		if got := s.CordonState("n1"); got != "true" {
			s.T.Errorf("n1 is down, and its spec.unschedulable is %q", got)
		}
		s.requireVolumeOn("n2", 20*time.Second)
		movedMax = max(movedMax, time.Since(began))
	})
	log := s.lastShutdown("n1")
	s.RequireTexts(log, `msg=evicted pod=default/volume-`, `msg="pods with volumes have left" evicted=1 left=0`, `msg="the volumes of evicted pods are unmounted"`)
	s.Eventually(2*time.Minute, "n1 takes pods", func() error {
		if got := s.CordonState("n1"); got != "" {
			return errors.New(s.Shell("n1", "journalctl -b -u deployer-reboot -o cat"))
		}
		return nil
	})
	s.T.Logf("down after %.1f s, schedulable after %.1f s; the unit said:\n%s", down.Seconds(), time.Since(began).Seconds(), log)
	if got := s.ReadyStatus("m1", "n1"); got != "True" {
		s.T.Errorf("n1 takes pods, and its condition Ready is %s", got)
	}
	s.RequireSchedulable("n1", "after its reboot")
	s.Shell("n1", "! test -e /var/lib/deployer/reboot.json")
}

// cordonedNodeReboots: the pod leaves, and the node stays cordoned.
func (s *site) cordonedNodeReboots() {
	s.Kubectl("m1", "cordon n2")
	s.reboot("n2", func() { s.requireVolumeOn("n1", 20*time.Second) })
	s.RequireTexts(s.lastShutdown("n2"), "cordoned by somebody else before")
	s.Eventually(2*time.Minute, "the unit has nothing more to do", func() error {
		if got := s.Shell("n2", "systemctl show -p SubState --value deployer-reboot"); got != "exited" {
			return errors.New(got)
		}
		return nil
	})
	s.RequireReady([]string{"n2"})
	if got := s.CordonState("n2"); got != "true" {
		s.T.Errorf("a person has cordoned n2, and after its reboot its spec.unschedulable is %q", got)
	}
	s.Kubectl("m1", "uncordon n2")
}

// masterReboots: the API server and etcd of the only master answer until its node is cordoned.
func (s *site) masterReboots() {
	took := s.reboot("m1", func() {})
	s.RequireTexts(s.lastShutdown("m1"), `msg="the node is cordoned" node=m1`, `msg="pods with volumes have left" evicted=0 left=0`)
	s.requireDown(took, 0, 10*time.Second)
	s.Eventually(3*time.Minute, "the API answers and m1 takes pods", func() error {
		_, err := s.SSH(s.T.Context(), "m1", "cordoned=$(kubectl --kubeconfig /etc/kubernetes/admin.conf get node m1 -o jsonpath='{.spec.unschedulable}') && test -z \"$cordoned\" && ! test -e /var/lib/deployer/reboot.json")
		return err
	})
	s.RequireReady(masters[:1])
}

// budgetKeepsThePod: the shutdown goes on after its timeout.
func (s *site) budgetKeepsThePod() {
	s.Kubectl("m1", "create poddisruptionbudget volume --selector=app=volume --min-available=1")
	s.Eventually(20*time.Second, "the budget is counted", func() error {
		if got := s.Kubectl("m1", `get pdb volume -o 'jsonpath={.status.desiredHealthy}/{.status.currentHealthy}'`); got != "1/1" {
			return errors.New(got)
		}
		return nil
	})
	took := s.reboot("n1", func() {})
	s.RequireTexts(s.lastShutdown("n1"), "left after evict_timeout", "its PodDisruptionBudget does not allow the eviction")
	s.requireDown(took, evictTimeout, evictTimeout+unmountTimeout)
	s.Kubectl("m1", "delete pdb volume")
	s.Eventually(2*time.Minute, "n1 takes pods", func() error { return s.open("n1") })
}

// rebootsWithoutAPI: the host is cut off from all masters. It cannot cordon its node, and says so.
func (s *site) rebootsWithoutAPI() {
	if err := s.Lab.Partition(s.T.Context(), "n2"); err != nil {
		s.T.Fatal(err)
	}
	took := s.reboot("n2", func() {})
	s.T.Logf("down without the API after %.1f s", took.Seconds())
	log := s.lastShutdown("n2")
	s.RequireTexts(log, "the shutdown goes on", "the pods stay: cordoning node n2")
	s.requireDown(took, 0, 20*time.Second)
	withoutAPIMax = max(withoutAPIMax, took)
	s.Eventually(2*time.Minute, "n2 takes pods", func() error { return s.open("n2") })
	s.Shell("n2", "! test -e /var/lib/deployer/reboot.json")
}

func (s *site) open(node string) error {
	if got := s.CordonState(node); got != "" || s.ReadyStatus("m1", node) != "True" {
		return fmt.Errorf("unschedulable %q, Ready %s", got, s.ReadyStatus("m1", node))
	}
	return nil
}

// requireDown checks the time of a shutdown. Other units of the host need up to 20 s on a loaded machine.
func (s *site) requireDown(took, least, most time.Duration) {
	s.T.Helper()
	if most += 20 * time.Second; took < least || took > most {
		s.T.Errorf("the host was down after %s, want %s to %s", took.Round(time.Second), least, most)
	}
}

// rebootsSwitchedOff: nothing of the units stays.
func (s *site) rebootsSwitchedOff() {
	s.set(func(k map[string]any) { harness.Section(k, "reboots")["enabled"] = false })
	s.Must("install")
	for _, host := range []string{"m1", "n1", "n2"} {
		if left := s.Shell(host, "ls /etc/deployer/reboot.yaml /etc/systemd/system/deployer-reboot.service /usr/local/bin/deployer-keeper /var/lib/deployer/reboot.json* 2>/dev/null; systemctl is-active deployer-reboot || true"); left != "inactive" {
			s.T.Errorf("%s has still %s", host, left)
		}
	}
	s.RequireSchedulable("n1", "after the removal of the unit")
}
