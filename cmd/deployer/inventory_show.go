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
	for _, further := range []struct{ key, address string }{{"node_address", h.NodeAddress}, {"external_address", h.ExternalAddress}} {
		if further.address != "" {
			fmt.Fprintf(t, "%s\t%s\n", further.key, further.address)
		}
	}
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
