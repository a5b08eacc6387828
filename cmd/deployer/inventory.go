package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
	"deployer/runs/target"
	"deployer/strictyaml"
)

func newInventoryCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "inventory",
		GroupID: "input",
		Short:   "List hosts, show the origin of settings, draw the groups, import from Ansible",
	}, newInventoryList(e), newInventoryShow(e), newInventoryGraph(e), newInventoryImport(e))
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
	Name    string            `json:"name"`
	Address string            `json:"address"`
	User    string            `json:"user"`
	Port    int               `json:"port"`
	Roles   []string          `json:"roles"`
	Groups  []string          `json:"groups"`
	Labels  map[string]string `json:"labels"`
	Taints  []string          `json:"taints"`
	Pos     strictyaml.Pos    `json:"pos"`
}

func rowOf(h inventory.Host, t ssh.Target) hostRow {
	return hostRow{Name: h.Name, Address: h.Address, User: t.Login(), Port: t.SSHPort(), Pos: h.Pos, Labels: h.Labels,
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

func newInventoryShow(e env) *cobra.Command {
	var path, playbook, output string
	cmd := &cobra.Command{
		Use:   "show HOST",
		Short: "Show every setting of a host and its origin",
		Long: `Show prints the merged settings of a host. Each line names the layer of the value
(the file itself, a group or the host) and its position. Secrets are masked. The
settings of OpenSSH's client configuration follow; they apply where the inventory has
none. --playbook adds the variables of group_vars and host_vars beside a playbook.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := ""
			if playbook != "" {
				dir = filepath.Dir(playbook)
			}
			inv, err := readInventory(path, dir)
			if err != nil {
				return err
			}
			h, ok := inv.Host(args[0])
			if !ok {
				return usageError(fmt.Errorf("there is no host %q in %s%s", args[0], path, strictyaml.DidYouMean(args[0], inv.Names())))
			}
			targets, err := target.NewTargets(inv, nil)
			if err != nil {
				return err
			}
			openSSH, err := targets.OpenSSH(h)
			if err != nil {
				return usageError(err)
			}
			origins := inv.Origins(h.Name)
			if output == "json" {
				return printJSON(e.stdout, struct {
					hostRow
					Values  []inventory.Origin `json:"values"`
					OpenSSH []ssh.Setting      `json:"openssh,omitempty"`
				}{rowOf(h, targets.Target(h.Name)), origins, openSSH})
			}
			return printOrigins(e.stdout, h, origins, openSSH)
		},
	}
	inventoryFlag(cmd, &path)
	cmd.Flags().StringVarP(&playbook, "playbook", "p", "", "playbook whose group_vars and host_vars are included")
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func printOrigins(w io.Writer, h inventory.Host, origins []inventory.Origin, openSSH []ssh.Setting) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "host\t%s\t%s\n", h.Name, h.Pos)
	fmt.Fprintf(t, "address\t%s\n", h.Address)
	fmt.Fprintf(t, "roles\t%s\n", dash(h.Roles))
	fmt.Fprintf(t, "groups\t%s\n", dash(h.Groups))
	for _, o := range origins {
		from := o.Layer
		if pos := o.Pos.String(); pos != "" {
			from = fmt.Sprintf("%s (%s)", o.Layer, pos)
		}
		text, err := oneLine(o.Value)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", o.Key, text, from)
	}
	for _, s := range openSSH {
		fmt.Fprintf(t, "%s\t%s\tOpenSSH (%s)\n", s.Keyword, s.Value, s.Place)
	}
	return t.Flush()
}

// oneLine formats a value on one line: plain text unchanged, other values as JSON.
func oneLine(v any) (string, error) {
	if s, ok := v.(string); ok && !strings.ContainsAny(s, "\n\t") && s != "" {
		return s, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
