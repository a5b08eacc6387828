package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/inventory"
	"deployer/runs"
	"deployer/shortlist"
)

func newNetworkStatus(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show sessions, routes, address pools and MTU of the pod network",
		Long: `Status compares the pod network with the inventory. For each node it shows the BGP
sessions that are established of those that the inventory wants, the routes to the pods of
other nodes that the kernel has of those that it needs, the addresses of pods in use, and
the MTU of pods with the highest one that the way to the other nodes allows. With Calico
the use of its pools follows. Each problem comes with its cause and, where one is known,
the command that repairs it. A host that is down is a problem and hides no other.

Status reads over SSH, and Calico's blocks from the Kubernetes API. With network.plugin:
none it shows what can be known of another network. In a cluster of more than 30 nodes the
table has only those with problems; --output json has all, with every session.

Exit code 5 means that there is a problem.`,
		Example: `  deployer network status
  deployer network status --limit 'n[1:9]' -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).NetworkStatus(given)
			if err != nil {
				return err
			}
			found := &runs.NetworkState{}
			done, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.TargetHosts()).with(found), r.Do)
			if err != nil {
				return err
			}
			if done.Interrupted {
				return exitSilently(exitInterrupted)
			}
			status := found.Compare(r.Project.Cluster, done)
			if output == "json" {
				err = printJSON(e.stdout, status)
			} else {
				err = printNetworkStatus(e.stdout, status)
			}
			if err == nil && len(status.Problems) > 0 {
				return exitSilently(exitUnhealthy)
			}
			return err
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	limitFlag(cmd, &o)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// printNetworkStatus prints a line for the network, a table of hosts, one of pools, and the problems.
func printNetworkStatus(w io.Writer, s networkstatus.Status) error {
	fmt.Fprintf(w, "pod network %s\n\n", networkTitle(s))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tSESSIONS\tROUTES\tPODS\tADDRESSES\tMTU\tALLOWED\tPROBLEMS")
	for _, h := range s.Hosts {
		if len(s.Hosts) <= statusHosts || len(h.Checks) > 0 {
			fmt.Fprintln(table, strings.Join(networkRow(h), "\t"))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := printPools(w, s.Pools); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, p := range s.Problems {
		fmt.Fprintf(w, "%s  %s: %s\n", cmp.Or(p.Host, "cluster"), p.Check, p.Detail)
		if p.Fix != "" {
			fmt.Fprintf(w, "  %s\n", p.Fix)
		}
	}
	if n := len(s.Problems); n > 0 {
		_, err := fmt.Fprintf(w, "\n%s, %s\n", shortlist.Count(len(s.Hosts), "node"), shortlist.Count(n, "problem"))
		return err
	}
	_, err := fmt.Fprintf(w, "%s, no problems\n", shortlist.Count(len(s.Hosts), "node"))
	return err
}

// networkTitle describes the network in one line.
func networkTitle(s networkstatus.Status) string {
	var parts []string
	switch {
	case s.Plugin == cluster.PluginNone:
		return "none: another program connects the pods"
	case s.Encapsulation != "":
		parts = append(parts, "encapsulation "+s.Encapsulation)
	}
	switch {
	case len(s.Reflectors) > 0:
		parts = append(parts, "route reflectors "+inventory.CompressText(s.Reflectors))
	case s.Mesh:
		parts = append(parts, "full mesh")
	}
	return strings.Join(append([]string{s.Plugin}, parts...), ", ")
}

// networkRow returns the columns of a host. A dash stands for what is not known or does not exist.
func networkRow(h networkstatus.HostStatus) []string {
	row := []string{h.Host, "-", "-", "-", "-", "-", "-", "none"}
	if len(h.Checks) > 0 {
		row[7] = strings.Join(slices.Compact(slices.Clone(h.Checks)), ", ")
	}
	if wanted, up := h.Wanted(); wanted > 0 {
		row[1] = fmt.Sprintf("%d of %d", up, wanted)
	}
	if h.Routes.Known {
		row[2] = fmt.Sprintf("%d of %d", h.Routes.Present, h.Routes.Wanted)
	}
	switch {
	case len(h.Ranges) == 1:
		row[3] = h.Ranges[0]
	case len(h.Ranges) > 1:
		row[3] = fmt.Sprintf("%d blocks", len(h.Ranges))
	}
	if h.Addresses.Total > 0 && h.Failure == "" {
		row[4] = fmt.Sprintf("%d of %d", h.Addresses.Used, h.Addresses.Total)
	}
	if mtu := max(h.MTU.Pods, h.MTU.New); mtu > 0 {
		row[5] = fmt.Sprint(mtu)
	}
	if h.MTU.Allowed > 0 {
		row[6] = fmt.Sprint(h.MTU.Allowed)
	}
	return row
}

func printPools(w io.Writer, pools []networkstatus.PoolStatus) error {
	if len(pools) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POOL\tRANGE\tBLOCKS\tADDRESSES\tSTATE")
	for _, p := range pools {
		state := "in use"
		if p.Disabled {
			state = "disabled"
		}
		fmt.Fprintf(table, "%s\t%s\t%d of %d (/%d)\t%d of %d\t%s\n", p.Name, p.CIDR, p.Blocks, p.TotalBlocks, p.BlockSize, p.Used, p.Total, state)
	}
	return table.Flush()
}
