// Package project reads what a run is made of: an inventory with its files of
// variables, the cluster that it describes, the artifacts which that needs, and
// playbooks. Nothing of it touches the network, and all that a project has read
// of the user's files is remembered, so that a plan or the log of a run can say
// what it was made from.
//
//	p, err := project.Load("inventory.yaml", project.Options{Open: keys.Open, Agents: agents})
//	b, err := p.Book("site.yaml")
//	program, registry, err := p.Compile(b, project.Selection{})
package project
