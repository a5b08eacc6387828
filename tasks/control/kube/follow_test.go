package kube_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// named is the part of an object that the test reads.
type named struct {
	Metadata struct{ Name, ResourceVersion string }
}

func (n named) Version() string { return n.Metadata.ResourceVersion }

// followed collects what a Follower is told.
type followed struct {
	mu     sync.Mutex
	known  map[string]bool
	synced bool
}

func (f *followed) follower() kube.Follower[named] {
	locked := func(do func()) {
		f.mu.Lock()
		defer f.mu.Unlock()
		do()
	}
	return kube.Follower[named]{
		Begin:  func() { locked(func() { f.known, f.synced = map[string]bool{}, false }) },
		Set:    func(n named) { locked(func() { f.known[n.Metadata.Name] = true }) },
		Delete: func(n named) { locked(func() { delete(f.known, n.Metadata.Name) }) },
		Synced: func() { locked(func() { f.synced = true }) },
	}
}

// await waits until a number of objects is known.
func (f *followed) await(t *testing.T, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		f.mu.Lock()
		known, synced := len(f.known), f.synced
		f.mu.Unlock()
		if synced && known == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d objects are known, synced: %t; want %d", known, synced, want)
		}
	}
}

func putNode(api *kubetest.API, i int) {
	name := fmt.Sprintf("n%d", i)
	api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}})
}

// TestFollow: all objects come page by page, and then their changes, also behind a watch that the API server has ended.
func TestFollow(t *testing.T) {
	var watches atomic.Int64
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Get("watch") != "" && watches.Add(1) == 1 // the first watch ends at once
	}}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		putNode(api, i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &followed{}
	ended := make(chan error, 1)
	go func() {
		ended <- kube.Follow(ctx, client, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, 2, f.follower())
	}()
	f.await(t, 5)
	putNode(api, 5)
	f.await(t, 6)
	if err := client.Delete(t.Context(), kube.NodeKind(), "", "n3", -1); err != nil {
		t.Fatal(err)
	}
	f.await(t, 5)
	cancel()
	if err := <-ended; err == nil {
		t.Error("a watch that was stopped has no error")
	}
	if f.known["n3"] || watches.Load() != 2 {
		t.Errorf("known: %v after %d watches", f.known, watches.Load())
	}
}

// TestFollowBehind: a watch whose changes are lost ends with an error, so that all objects are read again.
func TestFollowBehind(t *testing.T) {
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		fmt.Fprintln(w, `{"type": "ERROR", "object": {"kind": "Status", "code": 410}}`)
		return true
	}}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	err = kube.Follow(t.Context(), client, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, 2, (&followed{}).follower())
	if err == nil {
		t.Error("no error")
	}
}
