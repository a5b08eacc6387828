package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/inventory"
)

func newInventoryGraph(e env) *cobra.Command {
	var path, output string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw roles and groups with their hosts",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			inv, err := readInventory(path, "")
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(e.stdout, inv.Table())
			}
			_, err = io.WriteString(e.stdout, drawTree(inv))
			return err
		},
	}
	inventoryFlag(cmd, &path)
	outputFlag(cmd, &output, "tree", "json")
	return cmd
}

// branch is a line of the tree with its sub-branches.
type branch struct {
	text string
	subs []branch
}

// drawTree draws the roles, and each group below its parents.
func drawTree(inv *inventory.Inventory) string {
	table := inv.Table()
	roles := branch{text: "roles"}
	for _, role := range inventory.RoleNames() {
		text := line(role, table[role])
		if role == inventory.Etcd && len(inv.Roles[role]) == 0 && len(table[role]) > 0 {
			text += " (the masters)"
		}
		roles.subs = append(roles.subs, branch{text: text})
	}
	root := branch{text: fmt.Sprintf("all (%d)", len(inv.Hosts)), subs: []branch{roles}}
	groups := branch{text: "groups"}
	for _, name := range inv.GroupNames {
		if !isChild(inv, name) {
			groups.subs = append(groups.subs, groupBranch(inv, name))
		}
	}
	if len(groups.subs) > 0 {
		root.subs = append(root.subs, groups)
	}
	if loose := hostsWithoutGroup(inv); len(loose) > 0 {
		root.subs = append(root.subs, branch{text: line("in no role or group", loose)})
	}
	var b strings.Builder
	b.WriteString(root.text + "\n")
	root.draw(&b, "")
	return b.String()
}

func groupBranch(inv *inventory.Inventory, name string) branch {
	out := branch{text: line(name, inv.Groups[name])}
	for _, child := range inv.Children[name] {
		out.subs = append(out.subs, groupBranch(inv, child))
	}
	return out
}

func isChild(inv *inventory.Inventory, name string) bool {
	for _, children := range inv.Children {
		if slices.Contains(children, name) {
			return true
		}
	}
	return false
}

// hostsWithoutGroup returns the hosts without a role and without a group.
func hostsWithoutGroup(inv *inventory.Inventory) []string {
	var out []string
	for _, h := range inv.Hosts {
		if len(h.Roles)+len(h.Groups) == 0 {
			out = append(out, h.Name)
		}
	}
	return out
}

func line(name string, hosts []string) string {
	if len(hosts) == 0 {
		return name + ": no host"
	}
	return fmt.Sprintf("%s (%d): %s", name, len(hosts), inventory.CompressText(hosts))
}

func (b branch) draw(w *strings.Builder, indent string) {
	for i, sub := range b.subs {
		knot, below := "├── ", "│   "
		if i == len(b.subs)-1 {
			knot, below = "└── ", "    "
		}
		w.WriteString(indent + knot + sub.text + "\n")
		sub.draw(w, indent+below)
	}
}
