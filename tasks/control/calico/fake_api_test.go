package calico

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/calico/calicotest"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/kube/kubetest"
)

// fakeAPI is an API with the kinds of Calico, which actions reach by the context.
type fakeAPI struct {
	kubetest.API
	actx *actiontest.Context
	// down is the number of requests that find no API.
	down atomic.Int32
	// etcd has the objects of Calico where the cluster has them in etcd; nil: the API has them.
	etcd *calicotest.Etcd
}

// calicoKinds are the resources of Calico that the actions use.
var calicoKinds = map[string]string{
	"BGPConfiguration": "bgpconfigurations", "BGPPeer": "bgppeers", "BGPFilter": "bgpfilters", "IPPool": "ippools",
	"IPAMBlock": "ipamblocks", "BlockAffinity": "blockaffinities", "IPAMConfig": "ipamconfigs",
}

func newFakeAPI(t *testing.T, c *cluster.Cluster, hosts ...string) *fakeAPI {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	api := &fakeAPI{}
	api.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if api.down.Add(-1) >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	var resources []any
	for kind, name := range calicoKinds {
		resources = append(resources, map[string]any{"name": name, "kind": kind, "namespaced": false})
	}
	api.Put("/apis/"+apiVersion, map[string]any{"kind": "APIResourceList", "resources": resources})
	server := httptest.NewUnstartedServer(&api.API)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{apiCertificate(t, keys)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	ring, services := &keyring.Keyring{}, engine.Services{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	engine.Provide(services, ring)
	engine.Provide(services, kube.NewAccess(ring))
	engine.Provide(services, c)
	if c.EtcdCalico != nil {
		api.etcd = calicotest.NewEtcd()
		engine.Provide(services, etcd.Opener(api.etcd.Open))
	}
	api.actx = &actiontest.Context{Name: hosts[0], Hosts: hosts, Provided: services,
		DialFunc: func(ctx context.Context, _, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	return api
}

// apiCertificate returns the certificate of an API server for its loopback address.
func apiCertificate(t *testing.T, keys *keyring.Keys) tls.Certificate {
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
	if block == nil {
		t.Fatal(errors.New("no certificate"))
	}
	return tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// put stores objects of Calico.
func (a *fakeAPI) put(objects ...*unstructured.Unstructured) {
	for _, o := range objects {
		if a.etcd == nil {
			a.Put("/apis/"+apiVersion+"/"+calicoKinds[o.GetKind()]+"/"+o.GetName(), o.DeepCopy().Object)
			continue
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			panic(err)
		}
		a.etcd.Put(etcdResources+calicoKinds[o.GetKind()]+"/"+o.GetName(), string(text))
	}
}

// etcdResources is the prefix of the keys of Calico's objects in etcd.
const etcdResources = "/calico/resources/v3/projectcalico.org/"

// object returns an object of Calico, nil when there is none.
func (a *fakeAPI) object(kind, name string) map[string]any {
	if a.etcd == nil {
		return a.Object("/apis/" + apiVersion + "/" + calicoKinds[kind] + "/" + name)
	}
	return a.record(etcdResources + calicoKinds[kind] + "/" + name)
}

// record returns the value of a key in etcd, nil when there is none.
func (a *fakeAPI) record(key string) map[string]any {
	var out map[string]any
	if r, ok := a.etcd.Data[key]; ok {
		if err := json.Unmarshal(r.Value, &out); err != nil {
			panic(err)
		}
	}
	return out
}

// labels returns the labels of a node where its sessions are selected by them.
func (a *fakeAPI) labels(node string) map[string]any {
	o := a.Object("/api/v1/nodes/" + node)
	if a.etcd != nil {
		o = a.record(etcdResources + "nodes/" + node)
	}
	labels, _, _ := unstructured.NestedMap(o, "metadata", "labels")
	return labels
}

// clusterID returns the cluster ID of a node; empty when it is no reflector.
func (a *fakeAPI) clusterID(node string) string {
	if a.etcd != nil {
		id, _, _ := unstructured.NestedString(a.record(etcdResources+"nodes/"+node), "spec", "bgp", "routeReflectorClusterID")
		return id
	}
	id, _, _ := unstructured.NestedString(a.Object("/api/v1/nodes/"+node), "metadata", "annotations", datastore.ClusterID)
	return id
}

// putNode stores a node with a range of pod addresses.
func (a *fakeAPI) putNode(name, podRange string, annotations map[string]any) {
	if a.etcd != nil {
		a.etcd.Put(etcdResources+"nodes/"+name, `{"apiVersion":"projectcalico.org/v3","kind":"Node","metadata":{"name":"`+name+`"},"spec":{"bgp":{"ipv4Address":"10.0.0.9/24"}}}`)
	}
	a.Put("/api/v1/nodes/"+name, map[string]any{"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": name, "annotations": annotations}, "spec": map[string]any{"podCIDR": podRange, "podCIDRs": []any{podRange}}})
}

// run checks and applies an action, and returns its effects.
func (a *fakeAPI) run(t *testing.T, action engine.Action) (effects []string, out engine.Output) {
	t.Helper()
	change, err := action.Check(t.Context(), a.actx)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range change.Effects {
		effects = append(effects, e.Target+": "+e.Action)
	}
	if !change.Needed {
		return effects, change.Output
	}
	if out, err = action.Apply(t.Context(), a.actx, change); err != nil {
		t.Fatal(err)
	}
	return effects, out
}
