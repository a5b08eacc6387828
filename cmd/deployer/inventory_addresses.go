package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/engine"
	"deployer/inventory"
)

func newInventoryAddresses(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "addresses",
		Short: "Choose the node addresses of hosts with node_network or node_interface",
		Long: `Addresses connects to the hosts whose node address a node_network or node_interface
selects and is not recorded yet, chooses it among the addresses of the host, and records
it beside the inventory: in inventory.addresses.yaml for inventory.yaml. Keep that file
with the inventory; every verb reads it.

A host with no such address, or with several, is an error and is not recorded; the
others are. Interfaces that container runtimes and pod networks make do not count, and
neither do further addresses without a network, as VRRP has them.

Recorded addresses stay. To choose one again, remove its line from the file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			inv, err := readInventory(o.Inventory, "")
			if err != nil {
				return err
			}
			hosts := inv.WithoutNodeAddress()
			if len(hosts) == 0 {
				fmt.Fprintln(e.stdout, "all hosts have node addresses")
				return nil
			}
			rows, err := chooseNodeAddresses(cmd, e, inv, hosts, o)
			if err != nil {
				return err
			}
			if !o.Check {
				if err := recordNodeAddresses(inv, rows); err != nil {
					return err
				}
			}
			if err := printNodeAddresses(e.stdout, rows); err != nil {
				return err
			}
			switch failed := len(slices.DeleteFunc(slices.Clone(rows), nodeAddressRow.ok)); failed {
			case 0:
				return nil
			case len(rows):
				return exitSilently(exitFailed)
			}
			return exitSilently(exitPartial)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "record nothing, show what would be recorded")
	forksFlag(cmd, &o, "the inventory's, or 50")
	return cmd
}

// nodeAddressRow is the chosen address of a host, or the reason why there is none.
type nodeAddressRow struct {
	host      string
	addresses []netip.Addr // one for each network
	problem   string
}

func (r nodeAddressRow) ok() bool { return r.problem == "" }

// chooseNodeAddresses gathers the interfaces of hosts and chooses the address of each.
func chooseNodeAddresses(cmd *cobra.Command, e env, inv *inventory.Inventory, hosts []string, o runOptions) ([]nodeAddressRow, error) {
	given, err := o.resolve()
	if err != nil {
		return nil, err
	}
	given.Verb, given.Limit, given.Check = "facts", strings.Join(hosts, ","), false
	runner := newRunner(e)
	runner.HostsOnly = true
	r, err := runner.Task(map[string]any{"name": "facts", "facts": map[string]any{"gather": []string{"network"}}}, given)
	if err != nil {
		return nil, err
	}
	results := &execResults{}
	o.output = "text"
	report, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.Hosts).with(results), r.Do)
	if err != nil {
		return nil, err
	}
	rows := make([]nodeAddressRow, 0, len(hosts))
	for _, result := range results.inOrder(report) {
		h, _ := inv.Host(result.Host)
		row := nodeAddressRow{host: result.Host}
		if result.Status != engine.StatusOK {
			row.problem = strings.Join(strings.Fields(fmt.Sprintf("%s: %s", result.Status, result.Message)), " ") // on one line
		} else {
			for _, network := range h.NodeAddressChoice.Networks() {
				address, err := cluster.ChooseNodeAddress(interfacesOf(result.Output), network, h.NodeAddressChoice.Interface)
				if err != nil {
					row.problem = fmt.Sprintf("%s: %v", h.NodeAddressChoice, err)
					break
				}
				row.addresses = append(row.addresses, address)
			}
		}
		rows = append(rows, row)
	}
	refuseTwice(inv, rows)
	return rows, nil
}

// refuseTwice refuses addresses that two hosts have.
func refuseTwice(inv *inventory.Inventory, rows []nodeAddressRow) {
	hosts := map[netip.Addr][]string{}
	for _, h := range inv.Hosts {
		address := h.NodeAddress
		if address == "" && h.NodeAddressChoice.IsZero() {
			address = h.Address
		}
		for _, text := range cluster.SplitList(address) {
			if a, err := netip.ParseAddr(text); err == nil && len(h.Roles) > 0 {
				hosts[a.Unmap()] = append(hosts[a.Unmap()], h.Name)
			}
		}
	}
	for _, r := range rows {
		for _, a := range r.addresses {
			if r.ok() {
				hosts[a] = append(hosts[a], r.host)
			}
		}
	}
	for i, r := range rows {
		for _, a := range r.addresses {
			if have := hosts[a]; rows[i].ok() && len(have) > 1 {
				rows[i].problem = fmt.Sprintf("%s is the address of %s: write the right ones as node_address", a, inventory.CompressText(have))
			}
		}
	}
}

// plainInterface matches the names of interfaces that are shown; a host may claim any text.
var plainInterface = regexp.MustCompile(`^[A-Za-z0-9_.@:-]{1,15}$`)

// interfacesOf returns the interfaces of a host from the output of the module facts.
func interfacesOf(out engine.Output) []cluster.Interface {
	network, _ := out["network"].(map[string]any)
	all, _ := network["interfaces"].(map[string]any)
	var interfaces []cluster.Interface
	for name, value := range all {
		given, _ := value.(map[string]any)
		if !plainInterface.MatchString(name) {
			name = "an interface with an unusual name"
		}
		i := cluster.Interface{Name: name}
		i.Up, _ = given["up"].(bool)
		i.Loopback, _ = given["loopback"].(bool)
		addresses, _ := given["addresses"].([]any)
		for _, a := range addresses {
			text, _ := a.(string)
			if p, err := netip.ParsePrefix(text); err == nil {
				i.Addresses = append(i.Addresses, p)
			}
		}
		interfaces = append(interfaces, i)
	}
	return interfaces
}

// recordNodeAddresses adds chosen addresses to the file beside the inventory. Lines of hosts that the
// inventory no longer has are removed.
func recordNodeAddresses(inv *inventory.Inventory, rows []nodeAddressRow) error {
	chosen := map[string]string{}
	for _, h := range inv.Hosts {
		if h.NodeAddressRecorded {
			chosen[h.Name] = h.NodeAddress
		}
	}
	added := 0
	for _, r := range rows {
		if r.ok() {
			chosen[r.host] = inventory.JoinAddresses(r.addresses)
			added++
		}
	}
	if added == 0 {
		return nil
	}
	file := inventory.NodeAddressesFile(inv.File)
	if err := renameio.WriteFile(file, inventory.FormatNodeAddresses(inv.Names(), chosen), os.FileMode(0o644)); err != nil {
		return fmt.Errorf("writing the node addresses: %w", err)
	}
	return nil
}

func printNodeAddresses(w io.Writer, rows []nodeAddressRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "HOST\tNODE ADDRESS\tPROBLEM")
	for _, r := range rows {
		address, problem := "-", "none"
		if r.ok() {
			address = inventory.JoinAddresses(r.addresses)
		} else {
			problem = r.problem
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.host, address, problem)
	}
	return t.Flush()
}
