package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newValidateCommand(e env) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "validate",
		GroupID: "input",
		Short:   "Check the inventory without touching the network",
		Long: `Validate reads the inventory and checks everything that can be known without
the network: keys and values, roles on known hosts, a master, an odd number of
etcd members, address ranges that fit and do not overlap, versions and their
skew, and the settings of components, which are decoded with the components' own
types and held against the rules with which these end at their start; flags are held against those of the version. Every problem is one line; all are reported at once.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			c := p.Cluster
			for _, warning := range p.Warnings() {
				if _, err := fmt.Fprintln(e.stderr, "warning:", warning); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(e.stdout, "%s is valid: cluster %s, Kubernetes %s, %d masters, %d minions, %d etcd members, %d proxies\n",
				path, c.Name, c.Versions.Kubernetes, len(c.Masters), len(c.Minions), len(c.Etcd.Members), len(c.Proxies))
			return err
		},
	}
	inventoryFlag(cmd, &path)
	return cmd
}
