package runs

import (
	"deployer/cluster"
	"deployer/engine/journal"
)

// ChangePlugin returns a run that replaces the network plugin of nodes in use by that of the
// inventory, one node after the other.
func (c Runner) ChangePlugin(o Options) (*Run, error) {
	o.Verb = journal.VerbNetworkPlugin
	r, err := c.changing(o)
	if err != nil || r.Project.Cluster.Network.Plugin != cluster.PluginBGP {
		return r, err
	}
	o.Verb = journal.VerbNetworkPluginBGP
	return c.changing(o)
}
