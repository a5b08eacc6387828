package main

import "github.com/spf13/cobra"

func newCertsCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "certs",
		GroupID: "cluster",
		Short:   "Show and renew certificates, rotate authorities and keys",
	}, newCertsList(e), newCertsRenew(e), newCertsRequests(e), newCertsRotateCA(e), newCertsRotateEncryptionKey(e))
}
