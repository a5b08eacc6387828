package runs

import "deployer/cluster"

// The verbs of a change of the network plugin, by the plugin that the cluster gets.
const (
	verbNetworkPlugin    = "network-plugin"
	verbNetworkPluginBGP = "network-plugin-bgp"
)

// ChangePlugin returns a run that replaces the network plugin of nodes in use by that of the
// inventory, one node after the other.
func (c Runner) ChangePlugin(o Options) (*Run, error) {
	o.Verb = verbNetworkPlugin
	r, err := c.changing(o)
	if err != nil || r.Project.Cluster.Network.Plugin != cluster.PluginBGP {
		return r, err
	}
	o.Verb = verbNetworkPluginBGP
	return c.changing(o)
}
