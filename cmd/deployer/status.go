package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/tasks/control/report"
)

// statusHosts is the maximum number of hosts that status lists without exception. In a larger
// cluster it lists only hosts with problems, to fit on a screen.
const statusHosts = 30

func newStatusCommand(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:     "status",
		GroupID: "cluster",
		Short:   "Show the cluster on one screen",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			rows, p, err := inspect(cmd.Context(), e, "status", o, nil)
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(e.stdout, rows)
			} else {
				err = printStatus(e.stdout, p.Cluster, p.Hosts, rows)
			}
			if err == nil && len(report.Problems(rows)) > 0 {
				return exitSilently(exitUnhealthy)
			}
			return err
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

func printStatus(w io.Writer, c *cluster.Cluster, hosts []string, rows []report.Row) error {
	fmt.Fprintf(w, "cluster %s  Kubernetes %s  API %s\n", c.Name, c.Versions.Kubernetes, c.API.External)
	for _, check := range []string{"etcd leader", "etcd members", "etcd alarms", "etcd-events leader", "etcd-events members", "etcd-events alarms", "etcd-calico leader", "etcd-calico members", "etcd-calico alarms", "etcd backup", "etcd-calico backup", "deployment coredns"} {
		for _, r := range rows {
			if r.Check == check {
				fmt.Fprintf(w, "%s: %s\n", check, r.Detail)
			}
		}
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tROLES\tADDRESS\tNODE\tPROBLEMS")
	for _, host := range hosts {
		node, bad := "-", []string{}
		for _, r := range rows {
			if r.Host != host {
				continue
			}
			if r.Check == "node" {
				node = r.Detail
			}
			if !r.OK {
				bad = append(bad, r.Check+": "+r.Detail)
			}
		}
		if len(hosts) > statusHosts && len(bad) == 0 {
			continue
		}
		problems := "none"
		if len(bad) > 0 {
			problems = strings.Join(bad, "; ")
		}
		n := c.Nodes[host]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", host, strings.Join(withoutNodeRole(n.Roles), ","), n.IP, node, problems)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if bad := report.Problems(rows); len(bad) > 0 {
		_, err := fmt.Fprintf(w, "\n%d problems; `deployer verify` has the details\n", len(bad))
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d hosts, no problems\n", len(hosts))
	return err
}

// withoutNodeRole removes the role node, which all masters and minions have.
func withoutNodeRole(roles []string) []string {
	var out []string
	for _, r := range roles {
		if r != cluster.RoleNode {
			out = append(out, r)
		}
	}
	return out
}
