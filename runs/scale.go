package runs

import (
	"errors"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/inventory"
	"deployer/project"
)

// ScaleDownOptions are the options of a run that takes hosts out of the cluster. The
// variables in Extra are those of the playbook scale-down.
type ScaleDownOptions struct {
	Options
	// Hosts are patterns of hosts. With Dead they may also be names of Node objects or
	// etcd members that the inventory does not have.
	Hosts []string
	// Dead makes the cluster forget the hosts, and does nothing on them. Dead excludes
	// KeepNodes.
	Dead bool
}

// ScaleDown returns a run that takes hosts out of the cluster. A pattern that is unknown
// or matches no host is a *project.UserError, and so are hosts whose functions no other
// host has.
func (c Runner) ScaleDown(o ScaleDownOptions) (*Run, error) {
	inv, err := c.inventory(o.Inventory)
	if err != nil {
		return nil, err
	}
	if len(o.Hosts) == 0 {
		return nil, project.AsUserError(errors.New("name the hosts that leave the cluster"))
	}
	given := o.Options
	given.Verb = journal.VerbScaleDown
	if o.Dead && o.KeepNodes {
		return nil, project.AsUserError(errors.New("a dead host cannot stay in the cluster as a minion: leave out --keep-node or --dead"))
	}
	if o.Dead {
		given.Dead, err = deadNames(inv, o.Hosts)
	} else {
		given.Leaving, err = project.SelectHosts(inv, o.Hosts)
	}
	if err != nil {
		return nil, err
	}
	return c.changing(given)
}

// deadNames returns the hosts that match patterns, and the words that are plain names and
// that the inventory does not have.
func deadNames(inv *inventory.Inventory, patterns []string) ([]string, error) {
	var known, others []string
	for _, p := range patterns {
		found, err := project.SelectHosts(inv, []string{p})
		switch {
		case err == nil:
			known = append(known, found...)
		case nodeName(p):
			others = append(others, p)
		default:
			return nil, err
		}
	}
	known = slices.DeleteFunc(inv.Names(), func(name string) bool { return !slices.Contains(known, name) })
	slices.Sort(others)
	return append(known, slices.Compact(others)...), nil
}

// nodeName reports whether a text can be the name of a Node object (RFC 1123) rather than
// a pattern.
func nodeName(text string) bool {
	return text != "" && len(text) <= 253 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// ScaleUp returns a run that adds the hosts that match patterns to the cluster.
func (c Runner) ScaleUp(o Options, patterns []string) (*Run, error) {
	inv, err := c.inventory(o.Inventory)
	if err != nil {
		return nil, err
	}
	if o.Joining, err = project.SelectHosts(inv, patterns); err != nil {
		return nil, err
	}
	o.Verb = journal.VerbScaleUp
	return c.changing(o)
}

// Reset returns a run that removes the cluster from all its hosts.
func (c Runner) Reset(o Options) (*Run, error) {
	o.Verb = journal.VerbReset
	return c.changing(o)
}

// inventory reads an inventory for the patterns of a verb.
func (c Runner) inventory(file string) (*inventory.Inventory, error) {
	p, err := project.Load(file, c.Options)
	if err != nil {
		return nil, err
	}
	return p.Inventory, nil
}
