package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// TestReach: a host that refuses a connection lives.
func TestReach(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		err     error
		want    world.Reach
	}{
		"accepts":     {"10.0.0.1", nil, world.Answers},
		"refuses":     {"10.0.0.1", fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED), world.Answers},
		"resets":      {"10.0.0.1", &net.OpError{Op: "dial", Err: syscall.ECONNRESET}, world.Answers},
		"is silent":   {"10.0.0.1", context.DeadlineExceeded, world.Silent},
		"no route":    {"10.0.0.1", fmt.Errorf("dial tcp: %w", syscall.EHOSTUNREACH), world.Silent},
		"no address":  {"", nil, world.NotTried},
		"another one": {"fd00::1", errors.New("dial tcp [fd00::1]:10250: i/o timeout"), world.Silent},
	} {
		nodes := []world.Node{{Name: "n1", Address: c.address}}
		dialled := ""
		Reach(t.Context(), func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = address
			if c.err != nil {
				return nil, c.err
			}
			one, other := net.Pipe()
			return one, other.Close()
		}, nodes, func(world.Node) bool { return true })
		if nodes[0].Reach != c.want {
			t.Errorf("%s: %d, want %d", name, nodes[0].Reach, c.want)
		}
		if want := net.JoinHostPort(c.address, "10250"); c.address != "" && dialled != want {
			t.Errorf("%s: dialled %s, want %s", name, dialled, want)
		}
	}
}

// TestMajority: no more hosts are tried than a majority needs, and none again.
func TestMajority(t *testing.T) {
	for name, c := range map[string]struct {
		err         error // of a connection
		least, most int64 // connections
	}{
		"all answer": {syscall.ECONNREFUSED, 490, 490 + 2*reachAtOnce},
		"none does":  {context.DeadlineExceeded, 985, 985},
	} {
		nodes := make([]world.Node, 1000)
		for i := range nodes {
			nodes[i].Address = "10.0.0.1"
			if i < 15 {
				nodes[i].Reach = []world.Reach{world.Answers, world.Answers, world.Silent}[i%3]
			}
		}
		var dialled atomic.Int64
		Majority(t.Context(), func(context.Context, string, string) (net.Conn, error) {
			dialled.Add(1)
			return nil, c.err
		}, nodes)
		if n := dialled.Load(); n < c.least || n > c.most {
			t.Errorf("%s: %d connections, want %d to %d", name, n, c.least, c.most)
		}
		if split := decide.Split(nodes); (split == "") != errors.Is(c.err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %q", name, split)
		}
	}
}

// TestCluster: without anything to do, only the host of the node that is gone is tried; with a deleted pod there, a
// majority is. Pods of other nodes are not read.
func TestCluster(t *testing.T) {
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		ready := "True"
		if i == 4 {
			ready = "Unknown"
		}
		name := fmt.Sprintf("n%d", i)
		api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "uid": "u" + name}, "status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": time.Now().Add(-10 * time.Minute).Format(time.RFC3339)}},
			"addresses":  []any{map[string]any{"type": "InternalIP", "address": "10.0.0." + name[1:]}},
		}})
	}
	var dialled atomic.Int64
	watch := WatchNodes(client, slog.New(slog.DiscardHandler))
	defer watch.Stop()
	source := Source{Kube: client, Nodes: watch.Nodes, Masters: []string{"n0"}, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled.Add(1)
		if address == "10.0.0.4:10250" {
			return nil, context.DeadlineExceeded
		}
		return nil, syscall.ECONNREFUSED
	}}
	settings := cluster.KeeperSpec{}.WithDefaults()
	w, err := source.Cluster(t.Context(), settings, world.World{})
	if err != nil || dialled.Load() != 1 || len(w.Nodes) != 5 || w.Nodes[4].Reach != world.Silent || !w.Nodes[0].Master || w.Nodes[1].Master {
		t.Fatalf("%d connections, %+v, %v", dialled.Load(), w, err)
	}
	for pod, node := range map[string]string{"here": "n3", "there": "n4"} {
		api.Put("/api/v1/namespaces/default/pods/"+pod, map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"nodeName": node},
			"metadata": map[string]any{"namespace": "default", "name": pod, "uid": pod, "deletionTimestamp": time.Now().Add(-time.Minute).Format(time.RFC3339), "deletionGracePeriodSeconds": 30}})
	}
	w, err = source.Cluster(t.Context(), settings, world.World{})
	if err != nil || len(w.Ending) != 1 || w.Ending[0].Name != "there" || w.Ending[0].Node != "n4" {
		t.Errorf("%+v, %v", w.Ending, err)
	}
	if n := dialled.Load(); n < 1+1+3 || decide.Split(w.Nodes) != "" {
		t.Errorf("%d connections, %+v", n, w.Nodes)
	}
}

// TestNodesUnread: without an answer the nodes are not known, and the error says why.
func TestNodesUnread(t *testing.T) {
	api := &kubetest.API{Before: func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	watch := WatchNodes(client, slog.New(slog.DiscardHandler))
	defer watch.Stop()
	for range 2 {
		if nodes, err := watch.Nodes(t.Context()); err == nil || !strings.Contains(err.Error(), "listing nodes") {
			t.Errorf("%v, %v", nodes, err)
		}
	}
}

// TestDeleted: the API has the end of the grace period, the rules want its begin.
func TestDeleted(t *testing.T) {
	asked := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	grace := int64(300)
	end := v1.NewTime(asked.Add(5 * time.Minute))
	got := readPod(&corev1.Pod{ObjectMeta: v1.ObjectMeta{Name: "p", DeletionTimestamp: &end, DeletionGracePeriodSeconds: &grace}})
	if !got.Deleted.Equal(asked) {
		t.Errorf("deleted at %s, want %s", got.Deleted, asked)
	}
	if got := readPod(&corev1.Pod{}); !got.Deleted.IsZero() {
		t.Errorf("a pod that nobody has deleted was deleted at %s", got.Deleted)
	}
}

func TestMaintenanceOf(t *testing.T) {
	until := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	mark := maintenanceOf(`{"until": "2026-11-28T03:00:00Z", "by": "ann@desk", "reason": "disks"}`)
	if !mark.Active(until.Add(-time.Second)) || mark.Active(until) || mark.By != "ann@desk" {
		t.Errorf("%+v", mark)
	}
	for _, text := range []string{"", "tomorrow", `{"until": "soon"}`} {
		if mark := maintenanceOf(text); mark.Active(until) {
			t.Errorf("%q is the mark %+v", text, mark)
		}
	}
}

func TestMerged(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"replicas": int64(3), "list": []any{int64(1), map[string]any{"a": "b"}}, "name": "x"}}
	for name, c := range map[string]struct {
		patch map[string]any
		want  bool
	}{
		"equal":             {map[string]any{"spec": map[string]any{"replicas": 3, "name": "x"}}, true},
		"nothing":           {nil, true},
		"another number":    {map[string]any{"spec": map[string]any{"replicas": 4}}, false},
		"a new key":         {map[string]any{"spec": map[string]any{"paused": true}}, false},
		"an equal list":     {map[string]any{"spec": map[string]any{"list": []any{1, map[string]any{"a": "b"}}}}, true},
		"a shorter list":    {map[string]any{"spec": map[string]any{"list": []any{1}}}, false},
		"removed, and gone": {map[string]any{"spec": map[string]any{"paused": nil}}, true},
		"removed, and here": {map[string]any{"spec": map[string]any{"name": nil}}, false},
		"a map for a text":  {map[string]any{"spec": map[string]any{"name": map[string]any{"a": "b"}}}, false},
	} {
		if got := merged(object, c.patch); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
