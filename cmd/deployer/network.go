package main

import "github.com/spf13/cobra"

func newNetworkCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "network",
		GroupID: "cluster",
		Short:   "Show the pod network, or change its plugin",
	}, newNetworkStatus(e), newNetworkChangePlugin(e))
}
