// Package project reads and checks the input of a run without the network: the
// inventory with its files of variables, the cluster that it describes, the artifacts
// that the cluster needs, and playbooks. [ResolveCluster] turns the inventory into a
// cluster, [NewVariables] the cluster into the variables of tasks; both pass typed values
// on, and no text between. A project records the SHA-256 digest of each
// file of the user that it reads, so that a plan or the log of a run can name its
// sources.
//
//	p, err := project.Load("inventory.yaml", project.Options{Open: keys.Open, Agents: agents})
//	b, err := p.OpenPlaybook("site.yaml")
//	program, registry, err := p.Compile(b, project.Selection{})
package project
