package reboot

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/tasks/control/kube/kubetest"
)

const (
	nodePath = "/api/v1/nodes/n1"
	podPath  = "/api/v1/namespaces/default/pods/"
)

// testHost is a host of node n1 and a fake API.
type testHost struct {
	*Host
	t   *testing.T
	api *kubetest.API
	log *syncBuffer
}

// newTestHost returns a host that goes down. Nothing listens at the address of the API, as when the API
// proxy of the node has ended; a master answers.
func newTestHost(t *testing.T) *testHost {
	t.Helper()
	h := &testHost{t: t, api: &kubetest.API{}, log: &syncBuffer{}}
	server := h.api.Start(t.Cleanup)
	h.api.Put(nodePath, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n1"}})
	h.nodeReports("boot-1")
	dir := t.TempDir()
	ca := write(t, dir, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	cert, key := pair(t, dir)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = silent.Close()
	config := write(t, dir, "reboot.yaml", fmt.Sprintf(`node: n1
api: {server: "https://%s", masters: ["%s"], ca: %s, cert: %s, key: %s, rotated: %s/none}
evict_timeout: 300ms
unmount_timeout: 300ms
`, silent.Addr(), server.Listener.Addr(), ca, cert, key, dir))
	h.Host, err = New(Options{Config: config, StateDir: filepath.Join(dir, "state"), Log: slog.New(slog.NewTextHandler(h.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	h.Host.goingDown = func(context.Context) (bool, error) { return true, nil }
	h.interval, h.mountinfo, h.bootID = 5*time.Millisecond, write(t, dir, "mountinfo", ""), write(t, dir, "boot_id", "boot-1\n")
	return h
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pair returns the files of a certificate and its key.
func pair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, "kubelet.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		write(t, dir, "kubelet.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})))
}

// nodeReports stores the status that a kubelet of a boot reports.
func (h *testHost) nodeReports(boot string) {
	node := h.api.Object(nodePath)
	node["status"] = map[string]any{"nodeInfo": map[string]any{"bootID": boot}, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	h.api.Put(nodePath, node)
}

func (h *testHost) putPod(name string, change func(pod map[string]any)) {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": "default", "name": name, "uid": "uid-" + name, "labels": map[string]any{"app": "db"},
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1", "controller": true}}},
		"spec": map[string]any{"nodeName": "n1", "volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}}}}
	if change != nil {
		change(pod)
	}
	h.api.Put(podPath+name, pod)
}

func (h *testHost) cordoned() bool {
	spec, _ := h.api.Object(nodePath)["spec"].(map[string]any)
	return spec["unschedulable"] == true
}

func (h *testHost) setCordon(value any) {
	node := h.api.Object(nodePath)
	node["spec"] = map[string]any{"unschedulable": value}
	h.api.Put(nodePath, node)
}

func (h *testHost) recorded() bool {
	_, err := os.Stat(h.record.path)
	return err == nil
}

// requireLog fails unless each text is in the log.
func (h *testHost) requireLog(texts ...string) {
	h.t.Helper()
	for _, text := range texts {
		if !strings.Contains(h.log.String(), text) {
			h.t.Errorf("no %q in the log:\n%s", text, h.log)
		}
	}
}

type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func TestReboot(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.putPod("db-0", nil)
	h.putPod("web", func(pod map[string]any) { delete(pod["spec"].(map[string]any), "volumes") })
	h.putPod("elsewhere", func(pod map[string]any) { pod["spec"].(map[string]any)["nodeName"] = "n2" })
	if err := h.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.api.Writes(); !slices.Equal(got, []string{"PATCH " + nodePath, "EVICT " + podPath + "db-0"}) || !h.cordoned() {
		t.Errorf("cordoned: %t, writes %q", h.cordoned(), got)
	}
	info, err := os.Stat(h.record.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record: %v, %v", info, err)
	}
	h.requireLog("pods with volumes have left", "volumes of evicted pods are unmounted")

	h.Host.goingDown = func(context.Context) (bool, error) { return false, nil }
	write(t, filepath.Dir(h.bootID), "boot_id", "boot-2\n")
	done := make(chan error)
	go func() { done <- h.Start(t.Context()) }()
	for !strings.Contains(h.log.String(), "it is not Ready in this boot") {
		time.Sleep(time.Millisecond)
	}
	if !h.cordoned() {
		t.Error("the node was uncordoned by the report of the boot before")
	}
	h.nodeReports("boot-2")
	if err := <-done; err != nil || h.cordoned() || h.recorded() {
		t.Errorf("%v, cordoned: %t, recorded: %t", err, h.cordoned(), h.recorded())
	}
	before := len(h.api.Requests())
	if err := h.Start(t.Context()); err != nil || len(h.api.Requests()) != before {
		t.Errorf("a start without a record: %v, %q", err, h.api.Requests()[before:])
	}
}

// TestRestartOfTheUnit: the machine stays up.
func TestRestartOfTheUnit(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.Host.goingDown = func(context.Context) (bool, error) { return false, nil }
	h.putPod("db-0", nil)
	if err := h.Shutdown(t.Context()); err != nil || len(h.api.Requests()) > 0 || h.recorded() {
		t.Errorf("%v, requests %q, recorded: %t", err, h.api.Requests(), h.recorded())
	}
}

func TestCordonOfAPersonStays(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.setCordon(true)
	h.putPod("db-0", nil)
	if err := h.Shutdown(t.Context()); err != nil || h.recorded() {
		t.Errorf("%v, recorded: %t", err, h.recorded())
	}
	if h.api.Object(podPath+"db-0") != nil {
		t.Error("the pod was not evicted")
	}
	h.Host.goingDown = func(context.Context) (bool, error) { return false, nil }
	if err := h.Start(t.Context()); err != nil || !h.cordoned() {
		t.Errorf("%v, cordoned: %t", err, h.cordoned())
	}
}

// TestUncordonedMeanwhile: a person has uncordoned the node, and cordoned it again.
func TestUncordonedMeanwhile(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	if err := h.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	node := h.api.Object(nodePath)
	node["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "kubectl-cordon", "operation": "Update", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:unschedulable": map[string]any{}}}}}
	h.api.Put(nodePath, node)
	h.Host.goingDown = func(context.Context) (bool, error) { return false, nil }
	if err := h.Start(t.Context()); err != nil || !h.cordoned() || h.recorded() {
		t.Errorf("%v, cordoned: %t, recorded: %t", err, h.cordoned(), h.recorded())
	}
	h.requireLog("somebody else has decided")
}

func TestBudgetKeepsAPod(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.putPod("db-0", nil)
	h.putPod("bare", func(pod map[string]any) { delete(pod["metadata"].(map[string]any), "ownerReferences") })
	h.api.Put("/apis/policy/v1/namespaces/default/poddisruptionbudgets/db", map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
		"metadata": map[string]any{"namespace": "default", "name": "db"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}}, "status": map[string]any{"disruptionsAllowed": 0}})
	if err := h.Shutdown(t.Context()); err != nil || !h.cordoned() || h.api.Object(podPath+"db-0") == nil || h.api.Object(podPath+"bare") == nil {
		t.Errorf("%v, cordoned: %t", err, h.cordoned())
	}
	h.requireLog("left after evict_timeout", "default/db-0 (its PodDisruptionBudget does not allow the eviction)")
	if strings.Contains(h.log.String(), "default/bare") {
		t.Errorf("a pod that was not to leave is reported:\n%s", h.log)
	}
}

func TestVolumesAreAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(h *testHost)
		want    string
	}{
		"a mount": {func(h *testHost) {
			write(h.t, filepath.Dir(h.mountinfo), "mountinfo", "92 36 0:41 / /var/lib/kubelet/pods/uid-db-0/volumes/kubernetes.io~csi/pvc-1/mount rw - ext4 /dev/rbd0 rw\n")
		}, "volumes of 1 evicted pods are mounted"},
		"a device": {func(h *testHost) {
			node := h.api.Object(nodePath)
			node["status"].(map[string]any)["volumesInUse"] = []any{"kubernetes.io/csi/rbd^1"}
			h.api.Put(nodePath, node)
		}, "the kubelet reports 1 volumes in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.putPod("db-0", nil)
			c.prepare(h)
			if err := h.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			h.requireLog("left after unmount_timeout", c.want)
		})
	}
}

// TestAPIEnds: the API goes away in the middle, as when the whole cluster is switched off.
func TestAPIEnds(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.Host.api = h.Host.api.WithRetryTimeout(-1)
	h.putPod("db-0", nil)
	h.api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch {
			return false
		}
		if r.URL.Path == nodePath {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	if err := h.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "evicting pods: listing the pods of node n1") || !h.cordoned() || !h.recorded() {
		t.Errorf("%v, cordoned: %t, recorded: %t", err, h.cordoned(), h.recorded())
	}
}

// TestShutdownDuringTheStart: the host goes down again before its node was Ready. The start must not
// uncordon it any more.
func TestShutdownDuringTheStart(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	for range 2 {
		if err := h.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Start(t.Context()); err != nil || !h.cordoned() || !h.recorded() {
		t.Errorf("%v, cordoned: %t, recorded: %t", err, h.cordoned(), h.recorded())
	}
	h.Host.goingDown = func(context.Context) (bool, error) { return false, nil }
	if err := h.Start(t.Context()); err != nil || h.cordoned() || h.recorded() {
		t.Errorf("after the second boot: %v, cordoned: %t, recorded: %t", err, h.cordoned(), h.recorded())
	}
}

func TestParseConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "is empty",
		"node: [":                    "reboot.yaml: ",
		"nodes: n1":                  "reboot.yaml:1",
		"node: n1\nevict_timeout: 1": "reboot.yaml:2",
		"node: n1\napi: {server: x, masters: [], ca: x, cert: x, key: x}\nevict_timeout: 0s\nunmount_timeout: 1s": "must be more than 0",
	} {
		if _, err := ParseConfig("reboot.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
