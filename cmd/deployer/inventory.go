package main

import (
	"github.com/spf13/cobra"

	"deployer/inventory"
)

func newInventoryCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "inventory",
		GroupID: "input",
		Short:   "List hosts, show the origin of settings, draw the groups, choose node addresses, import from Ansible",
	}, newInventoryList(e), newInventoryShow(e), newInventoryGraph(e), newInventoryTopology(e), newInventoryAddresses(e), newInventoryImport(e))
}

// readInventory reads an inventory without resolving its cluster, which it may not
// have. playbook is the directory of a playbook whose group_vars and host_vars are read
// too; empty for none.
func readInventory(path, playbook string) (*inventory.Inventory, error) {
	inv, err := inventory.Load(path, inventory.Options{Open: userKeys().Open, Playbook: playbook})
	if err != nil {
		return nil, usageError(err)
	}
	return inv, nil
}
