package main

import (
	"io"

	"github.com/spf13/cobra"

	"deployer/cluster/topology"
	"deployer/inventory"
)

// The values of --show.
const (
	showControlPlane = "control-plane"
	showPodNetwork   = "pod-network"
)

func newInventoryTopology(e env) *cobra.Command {
	var path string
	show, format := showControlPlane, "svg"
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "Draw the cluster: who serves what, and who connects to whom",
		Long: `Topology draws the cluster of the inventory as deployer install makes it. The control
plane has the ways of clients and nodes to the API servers, and of these to etcd. The pod
network has the BGP sessions of the nodes, of route reflectors and of routers outside of
the cluster. Hosts with the same connections are one box. Topology contacts no host.

The forms are svg, a picture that browsers show; mermaid, for pages in Markdown; and
dot, for Graphviz.`,
		Example: `  deployer inventory topology > control-plane.svg
  deployer inventory topology --show pod-network --format mermaid`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := loadCluster(path)
			if err != nil {
				return err
			}
			picture := topology.ControlPlane(p.Cluster, inventory.CompressText)
			if show == showPodNetwork {
				picture = topology.PodNetwork(p.Cluster, inventory.CompressText)
			}
			text := map[string]func() string{"svg": picture.SVG, "mermaid": picture.Mermaid, "dot": picture.DOT}[format]()
			_, err = io.WriteString(e.stdout, text)
			return err
		},
	}
	inventoryFlag(cmd, &path)
	cmd.Flags().Var(&enumFlag{&show, []string{showControlPlane, showPodNetwork}}, "show", "what is drawn: control-plane, pod-network")
	cmd.Flags().Var(&enumFlag{&format, []string{"svg", "dot", "mermaid"}}, "format", "form of the picture: svg, dot, mermaid")
	return cmd
}
