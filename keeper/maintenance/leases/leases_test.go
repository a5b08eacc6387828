package leases

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

var (
	saturday = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	key      = profile.LeaseKey{Namespace: "ns", Name: "l-0"}
)

const path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l-0"

func serve(t *testing.T) (*kubetest.API, *kube.Client) {
	t.Helper()
	api := &kubetest.API{}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	api.Put("/api/v1/namespaces/ns", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "ns"}})
	return api, client.WithRetryTimeout(-1)
}

func TestTake(t *testing.T) {
	api, c := serve(t)
	if _, ok, err := Read(t.Context(), c, key); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if err := Take(t.Context(), c, key, "n1", saturday, 8*time.Minute+time.Millisecond); err != nil {
		t.Fatal(err)
	}
	lease, ok, err := Read(t.Context(), c, key)
	if err != nil || !ok || lease.Holder != "n1" || !lease.Renewed.Equal(saturday) || lease.Duration != 8*time.Minute+time.Second {
		t.Errorf("%+v, %v", lease, err)
	}
	var taken *TakenError
	if err := Take(t.Context(), c, key, "n2", saturday.Add(8*time.Minute+time.Second), time.Minute); !errors.As(err, &taken) || taken.Holder != "n1" {
		t.Errorf("got %v", err)
	}
	if err := Take(t.Context(), c, key, "n1", saturday.Add(time.Minute), 8*time.Minute); err != nil {
		t.Errorf("the holder does not get it again: %v", err)
	}
	if err := Take(t.Context(), c, key, "n2", saturday.Add(9*time.Minute+time.Second), time.Minute); err != nil {
		t.Errorf("free: %v", err)
	}
	spec := api.Object(path)["spec"].(map[string]any)
	if spec["holderIdentity"] != "n2" || spec["leaseTransitions"] != float64(1) || spec["leaseDurationSeconds"] != float64(60) || spec["renewTime"] != "2026-11-28T12:09:01.000000Z" {
		t.Errorf("%v", spec)
	}
}

func TestSecondOfTwoClientsDoesNotGetALease(t *testing.T) {
	for name, prepare := range map[string]func(*kubetest.API, *kube.Client){
		"new": func(*kubetest.API, *kube.Client) {},
		"free": func(_ *kubetest.API, c *kube.Client) {
			_ = Take(t.Context(), c, key, "n0", saturday.Add(-time.Hour), time.Minute)
		},
	} {
		api, c := serve(t)
		prepare(api, c)
		done := false
		api.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet && !done {
				done = true
				if err := Take(t.Context(), c, key, "first", saturday, time.Minute); err != nil {
					t.Error(err)
				}
			}
			return false
		}
		var taken *TakenError
		if err := Take(t.Context(), c, key, "second", saturday, time.Minute); !errors.As(err, &taken) {
			t.Errorf("%s: got %v", name, err)
		}
		if lease, _, _ := Read(t.Context(), c, key); lease.Holder != "first" {
			t.Errorf("%s: held by %s", name, lease.Holder)
		}
	}
}

func TestLeaseThatIsNotReadableIsNotFree(t *testing.T) {
	api, c := serve(t)
	api.Put(path, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "l-0", "namespace": "ns"}, "spec": map[string]any{"holderIdentity": "n1"}})
	if err := Take(t.Context(), c, key, "n2", saturday, time.Minute); err == nil || !strings.Contains(err.Error(), "lease ns/l-0 has no holderIdentity, renewTime or leaseDurationSeconds; delete it") {
		t.Errorf("got %v", err)
	}
}

func TestLeaseThatWasTakenWithoutAnAnswerIsTaken(t *testing.T) {
	_, c := serve(t)
	now := saturday.Add(123456789 * time.Nanosecond) // Leases have microseconds
	if err := Take(t.Context(), c, key, "n1", now, time.Minute); err != nil {
		t.Errorf("new: %v", err)
	}
	if err := confirm(t.Context(), c, key, "n1", now); err != nil {
		t.Errorf("confirm: %v", err)
	}
	var taken *TakenError
	if err := confirm(t.Context(), c, key, "n1", now.Add(time.Second)); !errors.As(err, &taken) {
		t.Errorf("another time: %v", err)
	}
}
