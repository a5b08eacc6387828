package keeper

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"deployer/engine/agent/statedir"
	"deployer/engine/lock"
	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/status"
	"deployer/keeper/world"
	"deployer/tasks/control/kube/kubetest"
)

// cluster is a fake API with three nodes, of which n3 is dead, and a deleted pod on it.
type cluster struct {
	t     *testing.T
	api   *kubetest.API
	dir   string
	state string
	*Keeper
}

const podPath = "/api/v1/namespaces/default/pods/once-0"

// newCluster returns a cluster whose keeper has settings and certificates, in the form of its configuration.
func newCluster(t *testing.T, settings string, certificates ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, api: &kubetest.API{}, dir: t.TempDir(), state: t.TempDir()}
	server := c.api.Start(t.Cleanup)
	now := time.Now()
	for _, name := range []string{"default", "kube-system"} {
		c.api.Put("/api/v1/namespaces/"+name, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	for name, ready := range map[string]string{"m1": "True", "n2": "True", "n3": "Unknown"} {
		c.api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name, "uid": "uid-" + name},
			"status": map[string]any{
				"conditions": []any{map[string]any{"type": "Ready", "status": ready, "lastTransitionTime": now.Add(-10 * time.Minute).Format(time.RFC3339)}},
				"addresses":  []any{map[string]any{"type": "InternalIP", "address": "10.0.0." + name[1:]}},
			}})
	}
	c.api.Put(podPath, map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"namespace": "default", "name": "once-0", "uid": "uid-once", "deletionTimestamp": now.Add(-time.Minute).Format(time.RFC3339), "deletionGracePeriodSeconds": 30},
		"spec":     map[string]any{"nodeName": "n3"}, "status": map[string]any{"phase": "Running"}})
	ca := c.file("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	cert, key := c.pair()
	c.file("keeper.yaml", `host: m1
cluster: kubernetes
masters: [m1]
api: {server: "`+server.URL+`", ca: `+ca+`, cert: `+cert+`, key: `+key+`}
etcd: {ca: `+ca+`, cert: `+cert+`, key: `+key+`, members: []}
own: {addresses: [127.0.0.1], certificates: [`+strings.Join(certificates, ",")+`], authorities: [], external: [], renew_before: 720h, leaf_lifetime: 8760h}
keeper: {`+settings+`}
`)
	c.Keeper = New(Options{Config: filepath.Join(c.dir, "keeper.yaml"), StateDir: c.state, Root: c.dir, Version: "test", Log: slog.New(slog.DiscardHandler),
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "10.0.0.3:") {
				return nil, errors.New("i/o timeout")
			}
			return nil, syscall.ECONNREFUSED // the host answers
		}})
	t.Cleanup(func() { c.forgetNodes(); c.election.stop() })
	return c
}

func (c *cluster) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// pair writes a certificate and its key.
func (c *cluster) pair() (cert, key string) {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.file("keeper.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		c.file("keeper.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})))
}

// passUntilLeader makes passes until the keeper leads, and one more.
func (c *cluster) passUntilLeader() {
	c.t.Helper()
	for range 600 {
		file, err := config.Read(c.options.Config)
		led := c.election.leads()
		c.pass(c.t.Context(), file, err)
		if led || err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the keeper never leads")
}

func (c *cluster) deleted() bool {
	return slices.Contains(c.api.Writes(), "DELETE "+podPath)
}

// reported returns the status in the ConfigMap.
func (c *cluster) reported() status.Status {
	c.t.Helper()
	_, all, err := status.Read(c.t.Context(), c.access.Kube)
	if err != nil {
		c.t.Fatal(err)
	}
	return all["m1"]
}

func (c *cluster) condition(kind string) decide.Condition {
	for _, one := range c.reported().Conditions {
		if one.Type == kind {
			return one
		}
	}
	return decide.Condition{}
}

func TestKeeperClears(t *testing.T) {
	c := newCluster(t, "")
	c.passUntilLeader()
	if !c.deleted() {
		t.Fatalf("the pod of the dead node stays; writes %q", c.api.Writes())
	}
	s := c.reported()
	if len(s.Done) != 1 || s.Done[0].Action != "ForceDeletePod" || s.Done[0].Object != "Pod default/once-0" || s.Done[0].Result != actionlog.ResultDone || !s.Leader || s.Nodes != 3 {
		t.Errorf("%+v", s)
	}
	if d := c.condition("Degraded"); d.Status != world.True || d.Reason != "NodeUnknown" {
		t.Errorf("%+v", d)
	}
	if !slices.ContainsFunc(c.api.Paths(), func(path string) bool { return strings.HasPrefix(path, "/api/v1/namespaces/default/events/once-0.") }) {
		t.Errorf("no event among %q", c.api.Paths())
	}
	if holder, held := statedir.Open(c.state).RunLock().Current(); held {
		t.Errorf("the run lock is held by %v after the pass", holder)
	}
}

func TestKeeperDoesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		prepare  func(*cluster)
		why      string // in condition Available; empty: the keeper acts
		done     string // result of the action that it did not do
	}{
		"dry run": {"dry_run: true", func(*cluster) {}, "", actionlog.ResultDryRun},
		"paused": {"", func(c *cluster) {
			c.api.Put("/api/v1/namespaces/kube-system/configmaps/deployer-keeper", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"namespace": "kube-system", "name": "deployer-keeper"}, "data": map[string]any{"pause": `{"by": "ann@desk", "since": "2026-11-28T03:00:00Z", "reason": "migration"}`}})
		}, "paused by ann@desk since 2026-11-28T03:00:00Z: migration", ""},
		"a run is at work": {"", func(c *cluster) {
			held := statedir.Open(c.state).RunLock()
			if _, err := held.Take(lock.Holder{Run: "r1", Verb: "install", By: "ann@desk"}); err != nil {
				c.t.Fatal(err)
			}
			c.t.Cleanup(held.Release) // the lock ends with the garbage collection of what holds it
		}, "run r1 (install) by ann@desk holds the lock on m1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t, c.settings)
			c.prepare(k)
			k.passUntilLeader()
			if k.deleted() {
				t.Errorf("the pod was deleted")
			}
			if got := k.condition("Available"); got.Message != c.why {
				t.Errorf("Available: %+v, want %q", got, c.why)
			}
			done := ""
			if list := k.reported().Done; len(list) > 0 {
				done = list[0].Result
			}
			if done != c.done {
				t.Errorf("done %q, want %q", done, c.done)
			}
		})
	}
}

// TestBadConfiguration: no action, and status and metrics say so, also for a keeper that began with it.
func TestBadConfiguration(t *testing.T) {
	for name, before := range map[string]string{"from the beginning": "", "later": "interval: 15s"} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "clear: {unknown_fro: 5m}")
			bad, err := os.ReadFile(c.options.Config)
			if err != nil {
				t.Fatal(err)
			}
			if before != "" {
				c.file("keeper.yaml", strings.Replace(string(bad), "clear: {unknown_fro: 5m}", "dry_run: true, "+before, 1))
				c.passUntilLeader()
				c.file("keeper.yaml", string(bad))
			}
			c.passUntilLeader()
			if c.deleted() || c.election.leads() || c.marks.current() != nil {
				t.Errorf("the keeper acts: writes %q", c.api.Writes())
			}
			for kind, want := range map[string]decide.Condition{
				"Available": {Status: world.False, Reason: "Idle"}, "Degraded": {Status: world.True, Reason: decide.BadConfiguration},
			} {
				if got := c.condition(kind); got.Status != want.Status || got.Reason != want.Reason || !strings.Contains(got.Message, "keeper.yaml:7:18") || !strings.Contains(got.Message, "unknown_for") {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
			answer := httptest.NewRecorder()
			c.metrics.Handler(c.fresh).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if want := `deployer_keeper_passes_total{result="failed"} 1`; !strings.Contains(answer.Body.String(), want) {
				t.Errorf("no %s in\n%s", want, answer.Body)
			}
		})
	}
}
