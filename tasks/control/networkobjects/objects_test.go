package networkobjects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

func client(t *testing.T, api *kubetest.API) *kube.Client {
	t.Helper()
	server := api.Start(t.Cleanup)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c, err := kube.New(kube.Options{URL: server.URL, TLS: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	return c.WithRetryTimeout(-1)
}

func listIn(t *testing.T, api *kubetest.API, plugin string) (networkstatus.Objects, error) {
	t.Helper()
	c := client(t, api)
	return list(t.Context(), c, datastore.Kubernetes(c), plugin)
}

func put(api *kubetest.API, resource, name string, spec map[string]any) {
	api.Put("/apis/crd.projectcalico.org/v1/"+resource+"/"+name, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
}

func node(api *kubetest.API, name, podCIDR string) {
	api.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name}, "spec": map[string]any{"podCIDR": podCIDR},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": "container runtime network not ready: cni"}}}})
}

// TestCalico counts the addresses of blocks, over several pages of a list. A block is announced when the
// affinity of its node is confirmed.
func TestCalico(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	node(api, "n1", "10.244.7.0/24")
	put(api, "ippools", "default-ipv4-ippool", map[string]any{"cidr": "10.244.0.0/16", "blockSize": 26})
	put(api, "ippools", "former", map[string]any{"cidr": "10.9.0.0/16", "blockSize": 24, "disabled": true})
	put(api, "ipamblocks", "broken", map[string]any{"cidr": "x"})
	put(api, "ipamblocks", "free", map[string]any{"cidr": "10.9.0.0/24"})
	var want []networkstatus.Block
	want = append(want, networkstatus.Block{CIDR: "10.9.0.0/24"})
	for i := range 45 {
		name, cidr := fmt.Sprintf("n%d", i), fmt.Sprintf("10.244.%d.0/26", i)
		put(api, "ipamblocks", fmt.Sprintf("10-244-%d-0-26", i), map[string]any{"cidr": cidr, "affinity": "host:" + name, "allocations": []any{0, nil, 1, nil}})
		affinity := map[string]any{"cidr": cidr, "node": name, "state": "confirmed", "deleted": "false"}
		switch i {
		case 1:
			affinity["state"] = "pending"
		case 2:
			affinity["deleted"] = "true"
		}
		put(api, "blockaffinities", name+"-10-244", affinity)
		want = append(want, networkstatus.Block{CIDR: cidr, Node: name, Announced: i != 1 && i != 2, Used: 2})
	}
	got, err := listIn(t, api, cluster.PluginCalico)
	if err != nil || got.Error != "" {
		t.Fatalf("%v, %s", err, got.Error)
	}
	if diff := cmp.Diff(networkstatus.Objects{
		Nodes:  []networkstatus.Node{{Name: "n1", LacksNetwork: true}},
		Pools:  []networkstatus.Pool{{Name: "default-ipv4-ippool", CIDR: "10.244.0.0/16", BlockSize: 26}, {Name: "former", CIDR: "10.9.0.0/16", BlockSize: 24, Disabled: true}},
		Blocks: want,
	}, got); diff != "" {
		t.Error(diff)
	}
	if got, err = listIn(t, api, cluster.PluginBGP); err != nil || got.Nodes[0].Range != "10.244.7.0/24" || got.Blocks != nil {
		t.Errorf("without Calico: %+v, %v", got, err)
	}
}

// TestCalicoIsMissing: the nodes are known when Calico's kinds are not.
func TestCalicoIsMissing(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if missing := strings.HasSuffix(r.URL.Path, "/ippools"); missing {
			http.NotFound(w, r)
			return true
		}
		return false
	}}
	node(api, "n1", "")
	got, err := listIn(t, api, cluster.PluginCalico)
	if err != nil || len(got.Nodes) != 1 || !strings.Contains(got.Error, "listing ippools") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWithoutAPI: an API that cannot be read is a finding, and the ranges are those of the hosts' files.
func TestWithoutAPI(t *testing.T) {
	t.Parallel()
	c, err := cluster.Resolve(cluster.Spec{}, []cluster.Host{
		{Name: "m1", Address: "192.0.2.1", Roles: []string{cluster.RoleMaster}},
		{Name: "n1", Address: "192.0.2.2", Roles: []string{cluster.RoleMinion}},
		{Name: "n2", Address: "192.0.2.3", Roles: []string{cluster.RoleMinion}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conf := func(subnet string) map[string]engine.Output {
		return map[string]engine.Output{"files": {"files": map[string]any{"/etc/cni/net.d/10-deployer.conflist": `{"plugins":[{"type":"bridge","ipam":{"ranges":[[{"subnet":"` + subnet + `"}]]}}]}`}}}
	}
	s := &actiontest.Context{Name: "m1", Hosts: []string{"m1", "n1", "n2"}, Provided: engine.Services{},
		Results: map[string]map[string]engine.Output{"m1": conf("10.244.0.0/24"), "n1": conf("10.244.1.0/24"), "n2": conf("no range")},
		RunFunc: func(context.Context, string, string, engine.Module) (engine.Result, error) {
			return engine.Result{}, errors.New("cable cut")
		}}
	ring := &keyring.Keyring{}
	engine.Provide(s.Provided, c)
	engine.Provide(s.Provided, ring)
	engine.Provide(s.Provided, kube.NewAccess(ring))
	change, err := (&Objects{Found: "files"}).Check(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	out := change.Output
	if found, _ := out["objects"].(map[string]any); !strings.Contains(found["error"].(string), "cable cut") {
		t.Errorf("%v", found)
	}
	delete(out, "objects")
	want := engine.Output{"prefixes": []any{"10.244.0.0/24", "10.244.1.0/24"}, "gateways": []any{"192.0.2.1", "192.0.2.2"},
		"own": map[string]any{"m1": []any{"10.244.0.0/24"}, "n1": []any{"10.244.1.0/24"}}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}
