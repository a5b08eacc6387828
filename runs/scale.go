package runs

import (
	"errors"
	"fmt"
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
	given.Verb = verbScaleDown
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
	o.Verb = verbScaleUp
	return c.changing(o)
}

// Reset returns a run that removes the cluster from all its hosts.
func (c Runner) Reset(o Options) (*Run, error) {
	o.Verb = verbReset
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

// membershipUndo returns the command that takes back a run that changed the members of
// the cluster; empty for other runs.
func membershipUndo(call journal.Invocation) string {
	switch call.Verb {
	case verbScaleDown:
		if call.KeepNodes {
			return "the hosts are masters again with: deployer scale-up " + strings.Join(call.Leaving, " ")
		}
		return fmt.Sprintf("the hosts come back with: deployer scale-up %s", strings.Join(append(slices.Clone(call.Leaving), call.Dead...), " "))
	case verbScaleUp:
		return fmt.Sprintf("the hosts leave with: deployer scale-down %s", strings.Join(call.Joining, " "))
	case verbEtcdReplace:
		return "the data of the former member is kept in its data directory, as before-ID"
	case verbEtcdRestore, verbEtcdReaddress:
		return "the data that each member had before is kept in its data directory, as before-ID"
	case verbEtcdRestoreHosts:
		return "the hosts are empty again with: deployer reset --wipe"
	case verbRotateEncryptionKey:
		return "another rotation replaces the key again"
	case verbRotateCA:
		return "another rotation replaces the authorities again"
	case verbNetworkPlugin, verbNetworkPluginBGP:
		return "a node that has changed its network plugin keeps it; the same command continues the change"
	case verbReset:
		return "the cluster comes back with: deployer install"
	}
	return ""
}
