package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

func upCommand(name *string) *cobra.Command {
	var spec plan.Spec
	var packages []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Create a lab and wait until every host answers over SSH",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec.Name = *name
			start := time.Now()
			var mu sync.Mutex
			report := func(line string) {
				mu.Lock()
				defer mu.Unlock()
				cmd.PrintErrf("%6.1fs  %s\n", time.Since(start).Seconds(), line)
			}
			l, err := lab.Up(cmd.Context(), spec, lab.Options{Report: report, Packages: packages})
			if err != nil {
				return err
			}
			report(fmt.Sprintf("lab %s is up: %d hosts", l.Name, len(l.Hosts)))
			fmt.Fprintln(cmd.OutOrStdout(), l.Files.Inventory())
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&spec.Masters, "masters", 3, "hosts of role master: m1, m2, ...")
	f.IntVar(&spec.Minions, "minions", 2, "hosts of role minion: n1, n2, ...")
	f.IntVar(&spec.Etcd, "etcd", 0, "hosts of role etcd: e1, e2, ...; with none the masters run etcd")
	f.IntVar(&spec.Proxies, "proxies", 0, "hosts of role proxy: p1, p2, ...")
	f.IntVar(&spec.Hosts, "hosts", 0, "spare hosts without a role: h1, h2, ...")
	f.StringSliceVar(&packages, "package", nil, "additional Debian packages of the hosts; the first lab with them builds an image")
	return cmd
}
