package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
	"deployer/runs/target"
	"deployer/strictyaml"
)

func newInventoryList(e env) *cobra.Command {
	var path, output string
	cmd := &cobra.Command{
		Use:   "list [PATTERN]",
		Short: "List all hosts, or the hosts of a pattern",
		Long: `List prints the hosts with address, login, roles and groups. A pattern is a list
of hosts, ranges n[1:9], globs n*, groups and roles; &NAME keeps only hosts in
NAME, !NAME removes them: "minion,!rack1".`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			inv, err := readInventory(path, "")
			if err != nil {
				return err
			}
			hosts, err := matchingHosts(inv, args)
			if err != nil {
				return usageError(err)
			}
			if output == "json" {
				return printJSON(e.stdout, hosts)
			}
			return printHosts(e.stdout, hosts)
		},
	}
	inventoryFlag(cmd, &path)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

// hostRow is a row of inventory list.
type hostRow struct {
	Name     string            `json:"name"`
	Address  string            `json:"address"`
	Node     string            `json:"node_address,omitempty"`
	External string            `json:"external_address,omitempty"`
	User     string            `json:"user"`
	Port     int               `json:"port"`
	Roles    []string          `json:"roles"`
	Groups   []string          `json:"groups"`
	Labels   map[string]string `json:"labels"`
	Taints   []string          `json:"taints"`
	Pos      strictyaml.Pos    `json:"pos"`
}

func rowOf(h inventory.Host, t ssh.Target) hostRow {
	return hostRow{Name: h.Name, Address: h.Address, Node: h.NodeAddress, External: h.ExternalAddress, User: t.Login(), Port: t.SSHPort(), Pos: h.Pos, Labels: h.Labels,
		Roles: append([]string{}, h.Roles...), Groups: append([]string{}, h.Groups...), Taints: append([]string{}, h.Taints...)}
}

func matchingHosts(inv *inventory.Inventory, args []string) ([]hostRow, error) {
	pattern := "all"
	if len(args) > 0 {
		pattern = args[0]
	}
	names, err := inv.Match(pattern)
	if err != nil {
		return nil, err
	}
	targets, err := target.NewTargets(inv, nil)
	if err != nil {
		return nil, err
	}
	rows := make([]hostRow, 0, len(names))
	for _, name := range names {
		h, _ := inv.Host(name)
		rows = append(rows, rowOf(h, targets.Target(name)))
	}
	return rows, nil
}

func printHosts(w io.Writer, hosts []hostRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tADDRESS\tLOGIN\tROLES\tGROUPS")
	for _, h := range hosts {
		login := h.User
		if h.Port != 22 {
			login = fmt.Sprintf("%s, port %d", h.User, h.Port)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", h.Name, h.Address, login, dash(h.Roles), dash(h.Groups))
	}
	return t.Flush()
}

func dash(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}
