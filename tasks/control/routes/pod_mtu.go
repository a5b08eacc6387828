package routes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// cniConf is the file with the configuration of the pod network.
const cniConf = "/etc/cni/net.d/10-deployer.conflist"

// PodMTU is the action `pod_mtu`: it decides which MTU the pods of plugin bgp get, with
// [cluster.ChoosePodMTU] where the inventory leaves it open. Calico decides that on each node by itself;
// PodMTU warns of nodes whose pods may get an MTU that is too high. It changes nothing.
//
// The output has `mtu` in bytes, 0 for the default of the plugins, or what Calico finds.
type PodMTU struct {
	Found   string `yaml:"found" rule:"variable" doc:"Name under which nodes registered their network configuration." required:"true"`
	Uplinks string `yaml:"uplinks" rule:"variable" doc:"Name under which nodes registered network_state." required:"true"`
}

// ReadOnly returns true: the action changes nothing.
func (*PodMTU) ReadOnly() bool { return true }

// Check compares the interfaces of the nodes.
func (p *PodMTU) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	if c.Network.Plugin == cluster.PluginCalico && c.Network.MTU == 0 {
		if text := calicoMTU(c, p.nodes(actx, c)); text != "" {
			actx.Warn(text)
		}
	}
	if c.Network.Plugin != cluster.PluginBGP || c.Network.MTU > 0 {
		return engine.NoChange(engine.Output{"mtu": c.Network.MTU}), nil
	}
	chosen, tooSmall := cluster.ChoosePodMTU(p.nodes(actx, c))
	for _, m := range tooSmall {
		actx.Warn(fmt.Sprintf("%s of %s has the MTU %d, which pods do not get by themselves: correct it, or set cluster.network.mtu", m.Interface, m.Node, m.MTU))
	}
	switch {
	case chosen.Interface != "":
		actx.Progress(fmt.Sprintf("MTU of pods: %d, which %s of %s has", chosen.MTU, chosen.Interface, chosen.Node))
	case chosen.MTU > 0:
		actx.Progress(fmt.Sprintf("MTU of pods: %d, as on %s, because some nodes are not in the run", chosen.MTU, chosen.Node))
	}
	return engine.NoChange(engine.Output{"mtu": chosen.MTU}), nil
}

// nodes returns what the nodes have registered, in inventory order.
func (p *PodMTU) nodes(actx engine.ActionContext, c *cluster.Cluster) []cluster.NodeMTU {
	targets := actx.Targets() // without the nodes on which an earlier step of the run has failed
	var out []cluster.NodeMTU
	for _, name := range c.NodeNames {
		node := cluster.NodeMTU{Name: name}
		state := actionctx.Registered(actx, name, p.Uplinks)
		var found struct {
			Uplinks []cluster.UplinkMTU
			Calico  int `json:"calico_mtu"`
		}
		if state == nil || !slices.Contains(targets, name) || state.Decode(&found) != nil {
			node.Unknown = true
		}
		node.Uplinks = found.Uplinks
		files, _ := actionctx.Registered(actx, name, p.Found)["files"].(map[string]any)
		conf, _ := files[cniConf].(string)
		node.Present = mtuOf(conf)
		if c.Network.Plugin == cluster.PluginCalico {
			node.Present = found.Calico
		}
		out = append(out, node)
	}
	return out
}

// mtuOf returns the MTU that the first plugin of a network configuration sets; 0 for none.
func mtuOf(conf string) int {
	var list struct{ Plugins []struct{ MTU int } }
	if json.Unmarshal([]byte(conf), &list) != nil || len(list.Plugins) == 0 {
		return 0
	}
	return list.Plugins[0].MTU
}

// Apply does nothing: Check never returns a needed change.
func (*PodMTU) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
