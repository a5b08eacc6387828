package rotation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// newRotatingLab returns a cluster of two masters, a minion, and a minion that is
// off.
func newRotatingLab(t *testing.T) *lab {
	l := newLab(t)
	c, _ := engine.Service[*cluster.Cluster](l.Provided)
	c.Order = []string{"m1", "m2", "n1", "n2", "p1"}
	master := cluster.Node{IsMaster: true, IsEtcd: true, IsNode: true, RunsAPIServer: true}
	c.Nodes = map[string]cluster.Node{"m1": master, "m2": master, "n1": {IsNode: true}, "n2": {IsNode: true}, "p1": {}}
	c.Certificates.Authority = time.Hour
	l.Hosts = []string{"m1", "m2", "n1", "n2"}
	for _, host := range []string{"m1", "m2", "n1"} {
		l.register(host, "begun")
	}
	l.node("n1", "True")
	l.node("n2", "Unknown")
	return l
}

func (l *lab) register(host, name string) {
	if l.Results[host] == nil {
		l.Results[host] = map[string]engine.Output{}
	}
	l.Results[host][name] = engine.Output{"exists": true}
}

func (l *lab) node(name, ready string) {
	l.put("/api/v1/nodes/"+name, map[string]any{"kind": "Node", "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}}})
}

func authorityStep(step string) *Authority {
	a := NewAuthority()
	a.Step, a.Authorities, a.Found, a.Begun, a.Done = step, []string{"cluster", "etcd"}, "found", "begun", "done-"+step
	return a
}

// TestAuthorityRotation takes all steps, each twice: the second time nothing changes, as
// when a run continues.
func TestAuthorityRotation(t *testing.T) {
	l := newRotatingLab(t)
	keys, err := l.ring.Keys()
	if err != nil {
		t.Fatal(err)
	}
	former, _ := keys.Authority(keyring.Cluster)
	for _, s := range []struct{ step, stage string }{{"add", "trusted"}, {"sign", "signing"}, {"drop", "steady"}} {
		for _, host := range []string{"m1", "m2", "n1"} {
			l.register(host, "done-"+s.step)
		}
		for repeated := range 2 {
			change, err := authorityStep(s.step).Check(t.Context(), l)
			if err != nil {
				t.Fatalf("%s: %v", s.step, err)
			}
			if diff := cmp.Diff(map[string]any{"cluster": s.stage, "etcd": s.stage}, change.Output["stages"]); diff != "" || change.Needed != (repeated == 0) {
				t.Errorf("%s, taken %d times before: needed %v, %s", s.step, repeated, change.Needed, diff)
			}
			if now, err := l.ring.Keys(); err == nil {
				l.serve(t, now, "m1") // the API server has a certificate of the authority that signs
				l.serve(t, now, "m2")
			}
			if want := []int{2, 0}[repeated]; len(change.Effects) != want {
				t.Errorf("%s: effects %+v", s.step, change.Effects)
			}
		}
	}
	keys, err = l.ring.Keys()
	if err != nil {
		t.Fatal(err)
	}
	now, _ := keys.Authority(keyring.Cluster)
	untouched, _ := keys.Authority(keyring.FrontProxy)
	if now.Cert.Equal(former.Cert) || !now.Replaces(former.Cert) || now.Trusts(former.Cert) || untouched.MadeByRotation() {
		t.Errorf("the former authority is still there, or that of the front proxy is not: %s", now.Cert.Subject)
	}
	again := authorityStep("add")
	if change, err := again.Check(t.Context(), l); err != nil || change.Needed || len(change.Effects) != 2 || !strings.Contains(change.Effects[0].Diff, "use --again to replace it") {
		t.Errorf("another rotation at once: %+v, %v", change, err)
	}
	again.MinAge = 0
	if change, err := again.Check(t.Context(), l); err != nil || !change.Needed {
		t.Errorf("another rotation with --again: %+v, %v", change, err)
	}
}

// TestAuthorityRefuses: no step cuts off a host that is in use.
func TestAuthorityRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		step    string
		prepare func(*lab)
		want    string
	}{
		"a node in use that is not in the run": {"add", func(l *lab) { l.node("n2", "True") }, "the nodes n2 are Ready and cannot be reached"},
		"a master that is not in the run":      {"add", func(l *lab) { delete(l.Results["m2"], "begun") }, "m2 cannot be reached"},
		"a master without files":               {"add", func(l *lab) { delete(l.Results["m2"], "found") }, "m2 did not report"},
		"a host that failed in the phase before": {"sign", func(l *lab) {
			l.register("m1", "done-sign")
			l.register("m2", "done-sign")
		}, `n1 did not complete the phase before the step "sign"`},
		"the steps in another order": {"drop", func(l *lab) {
			for _, host := range []string{"m1", "m2", "n1"} {
				l.register(host, "done-add")
				l.register(host, "done-drop")
			}
			if _, err := authorityStep("add").Check(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}, "the new cluster authority does not sign yet"},
		"an unknown step": {"finish", func(l *lab) {
			for _, host := range []string{"m1", "m2", "n1"} {
				l.register(host, "done-finish")
			}
		}, "write add, sign or drop"},
	} {
		l := newRotatingLab(t)
		c.prepare(l)
		before, _ := l.ring.Keys()
		if _, err := authorityStep(c.step).Check(t.Context(), l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if after, _ := l.ring.Keys(); after != before {
			t.Errorf("%s: the keyring has changed", name)
		}
	}
}

// TestPublished: the action waits for the ConfigMaps of the cluster, removes the
// certificates that API servers keep, and restarts the pods of cluster DNS once.
func TestPublished(t *testing.T) {
	l := newRotatingLab(t)
	keys, err := l.ring.Keys()
	if err != nil {
		t.Fatal(err)
	}
	bundle := func(k *keyring.Keys, name string) string {
		a, err := k.Authority(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Bundle())
	}
	const rootPath = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
	const clientPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	const dnsPath = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
	publish := func(root, client, front string) {
		l.put(rootPath, map[string]any{"kind": "ConfigMap", "data": map[string]any{"ca.crt": root}})
		l.api.Put(clientPath, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "extension-apiserver-authentication", "namespace": "kube-system"},
			"data": map[string]any{"client-ca-file": client, "requestheader-client-ca-file": front}})
	}
	l.api.Put(dnsPath, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "coredns", "namespace": "kube-system"}})
	timeout := time.Second // nothing changes while the action waits
	check := func() (engine.Change, error) {
		p := &Published{Deployments: []string{"coredns", "none"}, Timeout: timeout}
		change, err := p.Check(t.Context(), l)
		if err == nil && change.Needed {
			_, err = p.Apply(t.Context(), l, change)
		}
		return change, err
	}
	fill := func(take func(*keyring.Keys) (*keyring.Keys, error)) *keyring.Keys {
		next, err := take(keys)
		if err == nil {
			err = l.ring.Fill(next)
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = next
		return next
	}
	steady := keys
	front := bundle(steady, keyring.FrontProxy)
	trusted := fill(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Add(keyring.Cluster, time.Now(), time.Hour) })
	both := bundle(trusted, keyring.Cluster)
	publish(bundle(steady, keyring.Cluster), both, front)
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "default/kube-root-ca.crt has other authorities") {
		t.Errorf("the controller manager has not published: %v", err)
	}
	publish(both, bundle(steady, keyring.Cluster), front)
	if _, err := check(); err == nil || !strings.Contains(err.Error(), "kube-system/extension-apiserver-authentication lacks an authority") {
		t.Errorf("the API servers have not published: %v", err)
	}
	publish(both, both, front)
	timeout = time.Minute
	if change, err := check(); err != nil || len(change.Effects) != 1 || change.Effects[0].Target != "Deployment kube-system/coredns" {
		t.Errorf("cluster DNS starts anew: %+v, %v", change.Effects, err)
	}
	if change, err := check(); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change.Effects, err)
	}
	signing := fill(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Promote(keyring.Cluster, time.Now()) })
	l.serve(t, signing, "m1")
	l.serve(t, signing, "m2")
	if change, err := check(); err != nil || change.Needed {
		t.Errorf("the order of the authorities matters: %+v, %v", change.Effects, err)
	}
	dropped := fill(func(k *keyring.Keys) (*keyring.Keys, error) { return k.Drop(keyring.Cluster, time.Now()) })
	publish(bundle(dropped, keyring.Cluster), both, front)
	if change, err := check(); err != nil || len(change.Effects) != 2 {
		t.Errorf("the former authority is taken away: %+v, %v", change.Effects, err)
	}
	data, _ := l.api.Object(clientPath)["data"].(map[string]any)
	if data["client-ca-file"] != bundle(dropped, keyring.Cluster) || data["requestheader-client-ca-file"] != front {
		t.Errorf("the ConfigMap has %v", data)
	}
	if change, err := check(); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change.Effects, err)
	}
}
