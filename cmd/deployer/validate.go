package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deployer/project"
)

func newValidateCommand(e env) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "validate",
		GroupID: "input",
		Short:   "Check the inventory without touching the network",
		Long: `Validate checks the inventory without the network: keys and values, roles on known
hosts, a master, an odd number of etcd members, sizes and overlaps of address ranges,
versions and their skew, and settings of components, which it decodes with the
components' types and checks with their validation rules; it compares flags with
the flags that the version has. It reports all problems at once, one line each.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			c := p.Cluster
			for _, warning := range append(p.Warnings(), unfetchedCharts(p)...) {
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

// unfetchedCharts returns a warning for each add-on that could not be rendered.
func unfetchedCharts(p *project.Project) []string {
	var out []string
	for _, a := range *p.Addons {
		if a.Unfetched {
			out = append(out, fmt.Sprintf("add-on %q was not rendered, because its chart is not fetched yet: run deployer artifacts fetch", a.Name))
		}
	}
	return out
}
