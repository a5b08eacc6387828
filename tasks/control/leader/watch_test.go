package leader

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
	"deployer/tasks/staticpod"
)

// masters is a cluster whose API server m1 has restarted.
type masters struct {
	leader  string
	watches time.Duration // from the restart to the watch; 0 for never
	young   bool          // the controller manager started after the API server
	endErr  error         // of ending the controller manager
	next    time.Duration // from the end to a new leader; 0 for never

	began time.Time
	ended bool
	taken atomic.Bool // another controller manager is the leader
}

func (m *masters) observe(context.Context, engine.ActionContext) (state, error) {
	if m.taken.Load() {
		return state{leader: "m2_b"}, nil
	}
	return state{leader: m.leader, watches: m.watches > 0 && time.Since(m.began) >= m.watches}, nil
}

func (m *masters) run(_ context.Context, _, module string, args engine.Module) (engine.Result, error) {
	reload := args.(*staticpod.Reload)
	if module != "static_pod_reload" || reload.Signal != "TERM" || reload.Manifest != manifests+"kube-controller-manager.yaml" {
		return engine.Result{}, errors.New("unexpected call of " + module)
	}
	if m.endErr != nil || m.young {
		return engine.Result{Status: engine.StatusOK}, m.endErr
	}
	m.ended = true
	if m.next > 0 {
		time.AfterFunc(m.next, func() { m.taken.Store(true) })
	}
	return engine.Result{Status: engine.StatusChanged}, nil
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		masters *masters
		check   bool
		single  bool
		took    time.Duration
		ended   bool
		want    string // of the error
	}{
		"another host has the leader": {masters: &masters{leader: "m10_a"}},
		"no leader":                   {masters: &masters{}},
		"a dry run":                   {masters: &masters{leader: "m1_a"}, check: true},
		"the only master":             {masters: &masters{leader: "m1_a"}, single: true},
		"leader watches":              {masters: &masters{leader: "m1_a", watches: time.Nanosecond}},
		"leader watches after 9 s":    {masters: &masters{leader: "m1_a", watches: 9 * time.Second}, took: 9 * time.Second},
		"leader does not watch":       {masters: &masters{leader: "m1_a", watches: time.Minute, next: 12 * time.Second}, took: 27 * time.Second, ended: true},
		"leader has just started":     {masters: &masters{leader: "m1_a", young: true}, took: 15 * time.Second},
		"no new leader":               {masters: &masters{leader: "m1_a"}, ended: true, want: "no other process is the leader yet"},
		"the leader cannot be ended":  {masters: &masters{leader: "m1_a", endErr: errors.New("no ctr")}, want: "ending kube-controller-manager: no ctr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				actx := &actiontest.Context{Name: "m1", Check: tt.check, RunFunc: tt.masters.run, Provided: engine.Services{}, Values: map[string]any{"facts": map[string]any{"hostname": "m1"}}}
				c := &cluster.Cluster{Masters: []string{"m1", "m2", "m3"}}
				if tt.single {
					c.Masters = c.Masters[:1]
				}
				engine.Provide(actx.Provided, c)
				watch := NewWatch()
				watch.observe = tt.masters.observe
				tt.masters.began = time.Now()
				change, err := watch.Check(t.Context(), actx)
				if tt.masters.ended != tt.ended {
					t.Errorf("ended: %t", tt.masters.ended)
				}
				if tt.want != "" {
					if err == nil || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("%v, want %s", err, tt.want)
					}
					return
				}
				if took := time.Since(tt.masters.began); err != nil || change.Needed || change.Output["ended"] != tt.ended || took < tt.took || took > tt.took+2*time.Second {
					t.Errorf("%+v, %v after %s", change, err, took)
				}
			})
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	metrics := atomic.Pointer[string]{}
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/metrics" {
			_, _ = w.Write([]byte(*metrics.Load()))
		}
		return r.URL.Path == "/metrics"
	}}
	server := api.Start(t.Cleanup)
	client, err := kube.New(kube.Options{URL: server.URL, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	readState := func(text string) state {
		metrics.Store(&text)
		t.Helper()
		now, err := read(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if now := readState(""); now != (state{}) {
		t.Errorf("without a lease: %+v", now)
	}
	api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager", map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": program, "namespace": "kube-system"}, "spec": map[string]any{"holderIdentity": "m1_a"}})
	const gauge = `apiserver_longrunning_requests{component="apiserver",group="coordination.k8s.io",resource="leases",scope="SCOPE",subresource="",verb="WATCH",version="v1"} `
	for text, want := range map[string]bool{
		"": false,
		strings.Replace(gauge, "SCOPE", "cluster", 1) + "1":            true,
		strings.Replace(gauge, "SCOPE", "cluster", 1) + "0":            false,
		strings.Replace(gauge, "SCOPE", "namespace", 1) + "2":          false,
		"other_" + strings.Replace(gauge, "SCOPE", "cluster", 1) + "1": false,
	} {
		if now := readState("# HELP\n" + text + "\nup 1\n"); now.leader != "m1_a" || now.watches != want {
			t.Errorf("%q: %+v", text, now)
		}
	}
}
