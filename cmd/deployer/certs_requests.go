package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/tasks/control/requests"
)

func newCertsRequests(e env) *cobra.Command {
	var o runOptions
	var within time.Duration
	cmd := &cobra.Command{
		Use:   "requests [HOST...]",
		Short: "Write requests for certificates of external authorities",
		Long: `Requests writes a signing request for each certificate of an external authority that is
missing, has expired, expires within 30 days (renew_before of the inventory, or --within)
or is not as the inventory says. Hosts make their keys, which never leave them, and keep
the ones that they have; no certificate changes.

The directory external_authorities.requests of the inventory (certificate-requests
beside it) gets AUTHORITY/HOST/NAME.csr, NAME.ext with the extensions for openssl, and
requests.json, which describes all requests. Put each issued certificate beside its
request, as NAME.crt. install, scale-up and certs renew verify and install them. A
second call keeps the open requests and removes the answered ones.`,
		Example: `  deployer certs requests
  deployer certs requests n4 n5
  deployer certs requests --within 2160h`,
		RunE: func(cmd *cobra.Command, hosts []string) error {
			o.Limit = strings.Join(hosts, ",")
			given, err := o.resolve()
			if err != nil {
				return err
			}
			if within < 0 {
				return usageError(fmt.Errorf("--within is %s", within))
			}
			if within > 0 {
				given.Extra = map[string]any{"certs_renew_before": within.String()}
			}
			r, err := newRunner(e).CertsRequests(given)
			if err != nil {
				return err
			}
			ext := r.Project.Cluster.ExternalAuthorities
			if len(ext.Names) == 0 {
				return usageError(errors.New("the inventory names no external authority (cluster.certificates.external_authorities): deployer signs all certificates itself; see deployer certs renew"))
			}
			if err := execute(cmd.Context(), e, r, o); err != nil || o.Check || o.output != "text" {
				return err
			}
			return printRequests(e, ext.Requests)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	f := cmd.Flags()
	f.DurationVar(&within, "within", 0, "request what expires within this `time`, such as 2160h; default renew_before of the inventory")
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}

// printRequests lists the open requests.
func printRequests(e env, dir string) error {
	index, err := requests.ReadIndex(dir)
	if err != nil {
		return err
	}
	if len(index.Requests) == 0 {
		fmt.Fprintln(e.stdout, "\nno request is out")
		return nil
	}
	fmt.Fprintln(e.stdout)
	table := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REQUEST\tPROFILE\tSUBJECT\tREASON")
	for _, r := range index.Requests {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Request, r.Profile, r.Subject, r.Reason)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\n%d requests are out in %s: have them signed, put each certificate beside its request as .crt, and run deployer install, scale-up or certs renew\n",
		len(index.Requests), project.Relative(dir))
	return err
}
