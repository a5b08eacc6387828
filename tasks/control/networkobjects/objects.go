// Package networkobjects has the action `network_objects`, which reads what the Kubernetes API knows of
// the pod network: the ranges of nodes, and Calico's pools and blocks. From these follow the routes that
// each node must have.
package networkobjects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/engine"
	"deployer/jsontypes"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/calico/datastore"
	"deployer/tasks/control/kube"
)

// apiTimeout is the maximum time of all requests to the API together. Without etcd each
// request hangs until its timeout.
const apiTimeout = 15 * time.Second

// Objects is the action `network_objects`. It changes nothing. An API that does not answer is a finding,
// not a failure: then the ranges are those that the hosts have registered.
//
// The output is a [networkstatus.Objects], with the routes that nodes must have: `prefixes`, the
// `gateways` to them in the same order (empty when the plugin chooses them), and `own`, the prefixes of
// each node.
type Objects struct {
	Found string `yaml:"found" rule:"variable" doc:"Name under which nodes registered their network configuration." required:"true"`
}

// ReadOnly returns true: the action changes nothing.
func (*Objects) ReadOnly() bool { return true }

// Check reads the objects.
func (o *Objects) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	found, err := read(ctx, actx, c)
	if err != nil {
		found = networkstatus.Objects{Error: err.Error()}
	}
	if c.Network.Plugin == cluster.PluginBGP {
		for _, name := range c.NodeNames {
			if known, ok := found.Node(name); !ok || known.Range == "" {
				found.SetRange(name, kube.RangeIn(actionctx.Registered(actx, name, o.Found)))
			}
		}
	}
	routes := networkstatus.WantedRoutes(c, found)
	values, err := jsontypes.FromGo(map[string]any{"objects": found, "prefixes": routes.Prefixes, "gateways": routes.Gateways, "own": routes.Own})
	if err != nil {
		return engine.Change{}, fmt.Errorf("objects of the pod network: %w", err)
	}
	out, _ := values.(map[string]any)
	return engine.NoChange(out), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Objects) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// read reads the objects from the API. It fails when no API server is ready.
func read(ctx context.Context, actx engine.ActionContext, c *cluster.Cluster) (networkstatus.Objects, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, apiTimeout, errors.New("the API takes too long to answer"))
	defer cancel()
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return networkstatus.Objects{}, err
	}
	client = client.WithRetryTimeout(-1)
	if state, ok := client.FindReady(ctx); !ok {
		return networkstatus.Objects{}, fmt.Errorf("no API server is ready: %s", state)
	}
	_, store, err := datastore.Open(ctx, actx)
	if err != nil {
		return networkstatus.Objects{}, err
	}
	return list(ctx, client, store, c.Network.Plugin)
}

// list reads the nodes, and with Calico its pools and blocks.
func list(ctx context.Context, client *kube.Client, store datastore.Store, plugin string) (networkstatus.Objects, error) {
	var out networkstatus.Objects
	nodes, err := kube.Nodes(ctx, client, nil)
	if err != nil {
		return out, err
	}
	for _, n := range nodes {
		one := networkstatus.Node{Name: n.Name, Range: n.PodCIDR, LacksNetwork: n.LacksNetwork}
		if plugin == cluster.PluginCalico {
			one.Range = "" // pods get addresses from blocks
		}
		out.Nodes = append(out.Nodes, one)
	}
	if plugin != cluster.PluginCalico {
		return out, nil
	}
	if err := readCalico(ctx, store, &out); err != nil {
		out.Error = err.Error() // the nodes are known
	}
	return out, nil
}
