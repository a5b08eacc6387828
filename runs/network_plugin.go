package runs

const verbNetworkPlugin = "network-plugin"

// ChangePlugin returns a run that replaces the network plugin of nodes in use, one node after the
// other.
func (c Runner) ChangePlugin(o Options) (*Run, error) {
	o.Verb = verbNetworkPlugin
	return c.changing(o)
}
