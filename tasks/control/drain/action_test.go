package drain

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// testCluster is a cluster with two masters, the first one dead, without loaded keys, as
// for actions of users' playbooks.
type testCluster struct {
	*actiontest.Context
	api      *kubetest.API
	cleanups *engine.Cleanups
	read     []string // masters whose keys were asked for
}

func newTestCluster(t *testing.T, check bool) *testCluster {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	y := &testCluster{api: &kubetest.API{}, cleanups: &engine.Cleanups{}}
	serve(t, y.api)
	server := httptest.NewUnstartedServer(y.api)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t, keys)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	ring := &keyring.Keyring{}
	services := engine.Services{}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, &cluster.Cluster{Masters: []string{"m1", "m2"}, API: cluster.API{Port: 6443}})
	engine.Provide(services, y.cleanups)
	y.Context = &actiontest.Context{Name: "n1", Provided: services, Run: "r1", Check: check,
		DialFunc: func(ctx context.Context, host, network, _ string) (net.Conn, error) {
			if host == "m1" {
				return nil, errors.New("no route to m1")
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
		RunFunc: func(_ context.Context, host, module string, _ engine.Module) (engine.Result, error) {
			y.read = append(y.read, host+" "+module)
			if host == "m1" {
				return engine.Result{}, errors.New("no route to m1")
			}
			files := map[string]any{}
			for _, f := range keys.Share(keyring.Share{Master: true, Etcd: true, API: true}) {
				files[f.Path] = f.Content
			}
			return engine.Result{Output: engine.Output{"files": files}}, nil
		}}
	return y
}

// certificate returns the certificate of an API server for its loopback address.
func certificate(t *testing.T, keys *keyring.Keys) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := keys.Sign(keyring.Certificate{Name: "apiserver", Authority: keyring.Cluster, CommonName: "kube-apiserver",
		IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true}, key.Public(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// do runs an action as the scheduler does.
func (y *testCluster) do(t *testing.T, a engine.Action) (engine.Change, engine.Output, error) {
	t.Helper()
	change, err := a.Check(t.Context(), y)
	if err != nil || !change.Needed {
		return change, change.Output, err
	}
	out, err := a.Apply(t.Context(), y, change)
	return change, out, err
}

func TestDrainAndUncordonActions(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	for _, name := range pods(2) {
		putPod(y.api, name, map[string]any{"app": "db"})
	}
	change, out, err := y.do(t, NewAction())
	if err != nil || out["evicted"] != 2 || state(y.api, "n1") != "cordoned, marked" {
		t.Fatalf("%v, %v, n1 is %s", out, err, state(y.api, "n1"))
	}
	if e := change.Effects[0]; e.Kind != engine.EffectDrain || e.Target != "the node" || e.Diff != "-n1: default/web-0\n-n1: default/web-1\n" {
		t.Errorf("%+v", e)
	}
	if !slices.Equal(y.read, []string{"m1 ca_read", "m2 ca_read"}) {
		t.Errorf("keys were read from %q", y.read)
	}
	if change, _, err := y.do(t, NewAction()); err != nil || change.Needed {
		t.Errorf("the second time: %+v, %v", change, err)
	}
	if change, _, err := y.do(t, NewUncordonAction()); err != nil || !change.Needed || state(y.api, "n1") != "open" {
		t.Errorf("uncordon: %+v, %v, n1 is %s", change, err, state(y.api, "n1"))
	}
	if change, _, err := y.do(t, NewUncordonAction()); err != nil || change.Needed {
		t.Errorf("uncordon again: %+v, %v", change, err)
	}
	if left := y.cleanups.Take("n1"); len(left) > 0 {
		t.Errorf("cleanups after the uncordon: %v", left)
	}
}

func TestDryRunShowsTheUncordon(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, true)
	putPod(y.api, "web-0", map[string]any{"app": "web"})
	putBudget(y.api, 0)
	change, err := NewAction().Check(t.Context(), y)
	if err != nil || !strings.Contains(change.Effects[0].Diff, "-n1: default/web-0  (PodDisruptionBudget default/web allows no disruption now") {
		t.Errorf("%+v, %v", change, err)
	}
	if change, err := NewUncordonAction().Check(t.Context(), y); err != nil || !change.Needed {
		t.Errorf("%+v, %v", change, err)
	}
	if got := y.api.Writes(); len(got) > 0 {
		t.Errorf("the check wrote %q", got)
	}
}

func TestUnmanagedPodFailsBeforeTheCordon(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	y.api.Put("/api/v1/namespaces/default/pods/lonely", object("v1", "Pod", "default", "lonely", map[string]any{"spec": map[string]any{"nodeName": "n1"}}))
	_, _, err := y.do(t, NewAction())
	if err == nil || !strings.Contains(err.Error(), "default/lonely: no controller would recreate it; force: true") || state(y.api, "n1") != "open" {
		t.Errorf("%v, n1 is %s", err, state(y.api, "n1"))
	}
}

func TestCordonOfAnotherProgramStays(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	putPod(y.api, "web-0", nil)
	cordonBy(y.api, "")
	_, out, err := y.do(t, NewAction())
	if err != nil || out["was_cordoned"] != true || out["evicted"] != 1 {
		t.Errorf("%v, %v", out, err)
	}
	change, out, err := y.do(t, NewUncordonAction())
	if err != nil || change.Needed || out["still_cordoned"] != true || !strings.Contains(change.Effects[0].Diff, "stays cordoned: somebody else did that") || state(y.api, "n1") != "cordoned" {
		t.Errorf("%+v, %v, n1 is %s", change, err, state(y.api, "n1"))
	}
	for _, p := range y.cleanups.Take("n1") {
		if done, left := p.Run(t.Context()); done+left != "" || state(y.api, "n1") != "cordoned" {
			t.Errorf("done %q, left %q, n1 is %s", done, left, state(y.api, "n1"))
		}
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ready      string
		done, left string
		after      string
	}{
		"a Ready node": {"True", "node n1 takes pods again", "", "open"},
		"a dead node":  {"Unknown", "", "node n1 is left cordoned: node n1 is not Ready", "cordoned, marked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newTestCluster(t, false)
			if _, _, err := y.do(t, NewAction()); err != nil {
				t.Fatal(err)
			}
			node := y.api.Object("/api/v1/nodes/n1")
			node["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": c.ready, "reason": "NodeStatusUnknown"}}}
			y.api.Put("/api/v1/nodes/n1", node)
			cleanups := y.cleanups.Take("n1")
			if len(cleanups) != 1 {
				t.Fatalf("%d cleanups", len(cleanups))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			done, left := cleanups[0].Run(ctx)
			if done != c.done || !strings.HasPrefix(left, c.left) || c.left == "" && left != "" || state(y.api, "n1") != c.after {
				t.Errorf("%q, %q, n1 is %s", done, left, state(y.api, "n1"))
			}
			if c.left != "" && !strings.Contains(left, "kubectl uncordon n1") {
				t.Errorf("%q names no command", left)
			}
		})
	}
}

// TestCordonAction: a cordon is marked, found done by a second run, taken back by the
// cleanup of a host that leaves the run, and continued by a drain.
func TestCordonAction(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	if _, _, err := y.do(t, &CordonAction{}); err != nil || state(y.api, "n1") != "cordoned, marked" {
		t.Fatalf("%v, n1 is %s", err, state(y.api, "n1"))
	}
	if change, _, err := y.do(t, &CordonAction{}); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
	if left := y.cleanups.Take("n1"); len(left) != 1 {
		t.Errorf("%d cleanups, want 1", len(left))
	}
	if _, _, err := y.do(t, &CordonAction{Node: "n9"}); err == nil {
		t.Error("a node that does not exist is cordoned")
	}
	drain := NewAction()
	drain.Node, drain.MissingOK = "n9", true
	for _, a := range []engine.Action{&CordonAction{Node: "n9", MissingOK: true}, drain} {
		if change, _, err := y.do(t, a); err != nil || change.Needed {
			t.Errorf("%T of a node that does not exist: %+v, %v", a, change, err)
		}
	}
}

// TestCordonedBy checks that the run which has cordoned a node is known, and that a cordon
// of others has none.
func TestCordonedBy(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	client, err := kube.Open(t.Context(), y)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ mark, want string }{{"", ""}, {`{"run":"r7","since":"2026-11-24T00:00:00Z"}`, "r7"}, {"{", "unknown"}} {
		cordonBy(y.api, c.mark)
		if got, err := CordonedBy(t.Context(), client, "n1"); err != nil || got != c.want {
			t.Errorf("mark %q: %q, %v, want %q", c.mark, got, err, c.want)
		}
	}
}

// TestUncordonOfANodeThatJoins checks that a dry run does not need the Node object of a host
// that joins in the run.
func TestUncordonOfANodeThatJoins(t *testing.T) {
	t.Parallel()
	for _, check := range []bool{true, false} {
		y := newTestCluster(t, check)
		change, err := (&UncordonAction{Node: "n9", Timeout: time.Second}).Check(t.Context(), y)
		if change.Needed || (err == nil) != check {
			t.Errorf("check %t: %+v, %v", check, change, err)
		}
	}
}

// TestCordonCreatesTheNode: a host that joins has a Node that is cordoned and marked
// before its kubelet registers; a node that exists is left alone.
func TestCordonCreatesTheNode(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	create := &CordonAction{Node: "n2", Create: true, CPUs: 4, Memory: 1024, Addresses: []string{"192.0.2.2", "fd00::2"}}
	if change, _, err := y.do(t, create); err != nil || !change.Needed || state(y.api, "n2") != "cordoned, marked" {
		t.Fatalf("%+v, %v, n2 is %s", change, err, state(y.api, "n2"))
	}
	status, _ := y.api.Object("/api/v1/nodes/n2")["status"].(map[string]any)
	want := map[string]any{"cpu": "4", "memory": "1024", "pods": "110"}
	addresses := []any{map[string]any{"type": "Hostname", "address": "n2"}, map[string]any{"type": "InternalIP", "address": "192.0.2.2"}, map[string]any{"type": "InternalIP", "address": "fd00::2"}}
	if diff := cmp.Diff(map[string]any{"capacity": want, "allocatable": want, "addresses": addresses}, status); diff != "" {
		t.Errorf("resources with which the kubelet admits its static pods, and addresses for the pod network (-want +got):\n%s", diff)
	}
	if left := y.cleanups.Take("n1"); len(left) > 0 {
		t.Errorf("the cordon would be taken back when the host fails: %v", left)
	}
	if change, _, err := y.do(t, create); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
	if change, _, err := y.do(t, &CordonAction{Node: "n1", Create: true}); err != nil || change.Needed || state(y.api, "n1") != "open" {
		t.Errorf("a node in use: %+v, %v, n1 is %s", change, err, state(y.api, "n1"))
	}
	if change, _, err := y.do(t, &UncordonAction{Node: "n2", Timeout: time.Second}); err != nil || !change.Needed || state(y.api, "n2") != "open" {
		t.Errorf("uncordon: %+v, %v, n2 is %s", change, err, state(y.api, "n2"))
	}
}

// TestCordonWhileNoAPIResponds checks that an installation goes on when no API server is
// there yet, that a host which joins a cluster does not, and that the option changes nothing
// while the API responds.
func TestCordonWhileNoAPIResponds(t *testing.T) {
	t.Parallel()
	y := newTestCluster(t, false)
	optional := &CordonAction{Node: "n2", Create: true, APIOptional: true}
	if change, _, err := y.do(t, optional); err != nil || !change.Needed || state(y.api, "n2") != "cordoned, marked" {
		t.Errorf("with an API: %+v, %v, n2 is %s", change, err, state(y.api, "n2"))
	}
	y = newTestCluster(t, true)
	y.DialFunc = func(context.Context, string, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	if change, _, err := y.do(t, optional); err != nil || change.Needed {
		t.Errorf("without an API: %+v, %v", change, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := (&CordonAction{Node: "n2", Create: true}).Check(ctx, y); err == nil {
		t.Error("a host that joins needs no API")
	}
}

// TestCordonedNodes checks that only the nodes are listed which deployer has cordoned.
func TestCordonedNodes(t *testing.T) {
	t.Parallel()
	for mark, want := range map[string][]string{"": nil, `{"run":"r7"}`: {"n1"}} {
		y := newTestCluster(t, false)
		client, err := kube.Open(t.Context(), y)
		if err != nil {
			t.Fatal(err)
		}
		cordonBy(y.api, mark)
		if got, err := CordonedNodes(t.Context(), client); err != nil || !slices.Equal(got, want) {
			t.Errorf("mark %q: %v, %v, want %v", mark, got, err, want)
		}
	}
}
