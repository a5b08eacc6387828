package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/runs"
	"deployer/tasks/control/keyring"
)

// renewOptions are the flags of certs renew.
type renewOptions struct {
	runOptions
	within   time.Duration
	all, yes bool
}

func newCertsRenew(e env) *cobra.Command {
	var o renewOptions
	cmd := &cobra.Command{
		Use:   "renew [HOST...]",
		Short: "Renew certificates that expire soon",
		Long: `Renew renews the certificates that expire within 30 days (renew_before of the
inventory, or --within), have expired, or are not as the inventory says, and changes
nothing else. One minion is first, then one master, then the others; masters and members
of etcd take turns. The next host waits until every process of this one uses its new
certificate. A host on which that fails gets its former certificates back.

It also works when everything has expired, and the API and etcd are down: it needs SSH
and the authorities of one master. While no member of etcd serves, all hosts are renewed
together.

Certificates of external authorities are taken from the directory of requests when they
are newer than those of the hosts; see deployer certs requests.`,
		Example: `  deployer certs renew
  deployer certs renew --within 2160h --check
  deployer certs renew --all --yes`,
		RunE: func(cmd *cobra.Command, hosts []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			runner := newRunner(e)
			r, err := runner.CertsRenew(given)
			if err != nil {
				return err
			}
			if given.Extra, err = o.variables(r, hosts, time.Now()); err != nil {
				return usageError(err)
			}
			if len(hosts) > 0 { // the masters have the authorities
				given.Limit = strings.Join(append(slices.Clone(hosts), r.Project.Cluster.Masters...), ",")
			}
			if r, err = runner.CertsRenew(given); err != nil {
				return err
			}
			if !o.Check {
				if err := requireYes(e, o.yes, fmt.Sprintf("Renew certificates of the cluster %s?", r.Project.Cluster.Name)); err != nil {
					return err
				}
			}
			return execute(cmd.Context(), e, r, o.runOptions)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.DurationVar(&o.within, "within", 0, "renew what expires within this `time`, such as 2160h; default renew_before of the inventory")
	f.BoolVar(&o.all, "all", false, "renew all certificates")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}

// variables returns the variables of the playbook.
func (o renewOptions) variables(r *runs.Run, hosts []string, now time.Time) (map[string]any, error) {
	c := r.Project.Cluster
	before := c.Certificates.RenewBefore
	switch {
	case (o.all || o.within > 0) && len(c.ExternalAuthorities.Names) == len(cluster.Authorities()):
		return nil, errors.New("--all and --within are for authorities of deployer, and those of this cluster are external: write requests with deployer certs requests --within; certs renew installs what was issued")
	case o.within < 0:
		return nil, fmt.Errorf("--within is %s", o.within)
	case o.within > 0 && o.all:
		return nil, errors.New("--within and --all exclude each other")
	case o.within >= c.Certificates.Leaf:
		return nil, fmt.Errorf("--within is %s, and new certificates live for %s only: use --all to renew all of them once", o.within, c.Certificates.Leaf)
	case o.within > 0:
		before = o.within.String()
	}
	out := map[string]any{"certs_renew_before": before, "certs_issued_before": "", "certs_hosts": []any{}}
	if o.all {
		out["certs_issued_before"] = now.Add(-keyring.Backdate).UTC().Format(time.RFC3339)
	}
	if len(hosts) == 0 {
		return out, nil
	}
	names, err := r.Project.Match(strings.Join(hosts, ","))
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	out["certs_hosts"] = list
	return out, nil
}
