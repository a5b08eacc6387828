package act

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

const nodeN3 = "/api/v1/nodes/n3"

// nodeWith returns node n3 with taints.
func nodeWith(status map[string]any, taints ...any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "n3", "uid": "u3"}, "spec": map[string]any{"taints": taints}, "status": status}
}

func taint(key, value string) map[string]any {
	return map[string]any{"key": key, "value": value, "effect": "NoExecute"}
}

// taintsOf returns the taints of node n3 as key=value.
func taintsOf(api *kubetest.API) (out []string) {
	spec, _ := api.Object(nodeN3)["spec"].(map[string]any)
	list, _ := spec["taints"].([]any)
	for _, t := range list {
		m := t.(map[string]any)
		out = append(out, m["key"].(string)+"="+m["value"].(string))
	}
	return out
}

// TestFence: the taint comes when the hooks have succeeded, beside other taints, unless the node has changed meanwhile.
func TestFence(t *testing.T) {
	back := nodeWith(ready("True", away.Add(time.Minute)), taint("disk", "old"))
	for name, c := range map[string]struct {
		status  int            // of the hook's answer
		changes map[string]any // what the hook makes of the node; nil: nothing
		want    string         // of the error
		taints  []string
	}{
		"off":                      {http.StatusOK, nil, "", []string{"disk=old", "node.kubernetes.io/out-of-service=deployer-keeper"}},
		"the hook fails":           {http.StatusBadGateway, nil, `the machine of node n3 may run: hook "power" of fence`, []string{"disk=old"}},
		"it reports in the middle": {http.StatusOK, back, "the hooks have run: node n3 has changed", []string{"disk=old"}},
	} {
		var api *kubetest.API
		body, noted := "", ""
		hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			body = string(text)
			if noted != "n3" {
				t.Errorf("%s: the hook ran before the attempt was recorded", name)
			}
			if c.changes != nil {
				api.Put(nodeN3, c.changes)
			}
			w.WriteHeader(c.status)
		}))
		var actor Actor
		api, actor = newActor(t, cluster.KeeperPurgeSpec{})
		api.Put(nodeN3, nodeWith(ready("Unknown", away), taint("disk", "old")))
		actor.Settings.Fence.Hooks = []cluster.KeeperHookSpec{{Name: "power", URL: hook.URL, Timeout: time.Minute}}
		actor.Fencing = func(_ context.Context, n world.Node) error {
			noted = n.Name
			return nil
		}
		fence := purge
		fence.Kind = decide.Fence
		err := actor.Do(t.Context(), fence)
		hook.Close()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if got := taintsOf(api); !slices.Equal(got, c.taints) {
			t.Errorf("%s: taints %q, want %q", name, got, c.taints)
		}
		if body != `{"node":"n3","address":"10.0.0.3","cluster":"c","phase":"fence"}` {
			t.Errorf("%s: the hook got %s", name, body)
		}
		n, _, err := observe.Node(t.Context(), actor.Kube, "n3")
		if fenced := n.OutOfService != nil && n.OutOfService.ByKeeper; err != nil || fenced != (c.want == "") {
			t.Errorf("%s: the keeper reads %+v, %v", name, n.OutOfService, err)
		}
	}
}

// TestHostAnswersAgain: the machine of a host that answers when its turn comes is neither switched off nor purged.
func TestHostAnswersAgain(t *testing.T) {
	for _, kind := range []decide.Kind{decide.Fence, decide.Purge} {
		for _, answers := range []bool{true, false} {
			ran := 0
			hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran++ }))
			hooks := []cluster.KeeperHookSpec{{Name: "power", URL: hook.URL, Timeout: time.Minute}}
			_, actor := newActor(t, cluster.KeeperPurgeSpec{PreRemove: hooks})
			actor.Settings.Fence.Hooks = hooks
			actor.Fencing = func(context.Context, world.Node) error { return nil }
			actor.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
				if address != "10.0.0.3:10250" {
					t.Errorf("tries %s", address)
				}
				if answers {
					return nil, syscall.ECONNREFUSED
				}
				return nil, os.ErrDeadlineExceeded
			}
			action := purge
			action.Kind, action.Node.Reach = kind, world.Silent
			err := actor.Do(t.Context(), action)
			hook.Close()
			if refused := err != nil && strings.Contains(err.Error(), "the host of node n3 answers"); refused != answers || (ran == 0) != answers {
				t.Errorf("%s of a host that answers (%t): error %v, the hook ran %d times", kind, answers, err, ran)
			}
		}
	}
}

// TestUnfence: the keeper's taint goes, others and a person's stay, and a node that is away again keeps it.
func TestUnfence(t *testing.T) {
	since := away.Add(time.Hour)
	action := decide.Action{Kind: decide.Unfence, Object: decide.Object{APIVersion: "v1", Kind: "Node", Name: "n3"}, Node: world.Node{Name: "n3", UID: "u3", Ready: world.True, Since: since}}
	for name, c := range map[string]struct {
		node map[string]any
		want []string
		err  bool
	}{
		"back":       {nodeWith(ready("True", since), taint("node.kubernetes.io/out-of-service", "deployer-keeper"), taint("disk", "old")), []string{"disk=old"}, false},
		"a person's": {nodeWith(ready("True", since), taint("node.kubernetes.io/out-of-service", "nodeshutdown")), []string{"node.kubernetes.io/out-of-service=nodeshutdown"}, false},
		"away again": {nodeWith(ready("Unknown", since.Add(time.Minute)), taint("node.kubernetes.io/out-of-service", "deployer-keeper")), []string{"node.kubernetes.io/out-of-service=deployer-keeper"}, true},
	} {
		api, actor := newActor(t, cluster.KeeperPurgeSpec{})
		api.Put(nodeN3, c.node)
		if err := actor.Do(t.Context(), action); (err != nil) != c.err {
			t.Errorf("%s: %v", name, err)
		}
		if got := taintsOf(api); !slices.Equal(got, c.want) {
			t.Errorf("%s: taints %q, want %q", name, got, c.want)
		}
	}
}

// TestFenceOfNothing: no hook runs for a Node that has left, or when the attempt cannot be recorded.
func TestFenceOfNothing(t *testing.T) {
	for name, c := range map[string]struct {
		left bool
		err  error // of the record
		want string
	}{"it has left": {true, nil, "reading node n3"}, "not recorded": {false, errors.New("etcd is full"), "etcd is full"}} {
		ran := false
		hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true }))
		_, actor := newActor(t, cluster.KeeperPurgeSpec{})
		if c.left {
			if err := actor.Kube.Delete(t.Context(), kube.NodeKind(), "", "n3", -1); err != nil {
				t.Fatal(err)
			}
		}
		actor.Settings.Fence.Hooks = []cluster.KeeperHookSpec{{Name: "power", URL: hook.URL, Timeout: time.Minute}}
		actor.Fencing = func(context.Context, world.Node) error { return c.err }
		fence := purge
		fence.Kind = decide.Fence
		err := actor.Do(t.Context(), fence)
		hook.Close()
		if err == nil || !strings.Contains(err.Error(), c.want) || ran {
			t.Errorf("%s: %v, the hook ran: %t", name, err, ran)
		}
	}
}
