package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/cluster"
)

// authoritiesOption is the authorities that certs rotate-ca rotates.
type authoritiesOption struct {
	names     []string
	stopAfter string
	again     bool
}

func newCertsRotateCA(e env) *cobra.Command {
	var o runOptions
	var which authoritiesOption
	var yes bool
	cmd := &cobra.Command{
		Use:   "rotate-ca",
		Short: "Replace the certificate authorities of the cluster",
		Long: `Rotate-ca replaces certificate authorities in three phases. First every process
trusts a new authority beside the present one. Then the new one signs, and all
certificates are issued again and verified to be in use. Finally no process trusts the
former one. Hosts change as with certs renew: one minion first, masters and members of
etcd one by one. API calls of clients that deployer does not know fail unless these
clients get the new authority in time: restart pods that use the API and fetch
kubeconfigs again, with --stop-after between the phases.

The files on the masters show the phase of a rotation: the same command continues an
interrupted one, from any machine, and so does deployer resume. All masters, all members
of etcd and all nodes that are Ready must be reachable. A node that is off gets the new
authority from deployer install when it is back.`,
		Example: `  deployer certs rotate-ca --check
  deployer certs rotate-ca --authority etcd
  deployer certs rotate-ca --stop-after trust`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			if given.Extra, err = which.variables(); err != nil {
				return usageError(err)
			}
			r, err := newRunner(e).RotateCA(given)
			if err != nil {
				return err
			}
			if err := which.refuseExternal(r.Project.Cluster); err != nil {
				return usageError(err)
			}
			if !o.Check {
				if err := requireYes(e, yes, fmt.Sprintf("Replace certificate authorities of the cluster %s, restarting its components one by one?", r.Project.Cluster.Name)); err != nil {
					return err
				}
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	f := cmd.Flags()
	f.StringSliceVar(&which.names, "authority", nil, "rotate this `authority` only: cluster, etcd, front-proxy or etcd-calico; may be repeated (default: all)")
	f.StringVar(&which.stopAfter, "stop-after", "", "end after the `phase` trust or sign; the same command without this flag continues")
	f.BoolVar(&which.again, "again", false, "make another authority even if the last rotation is less than a day old")
	f.BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}

// variables returns the variables of the playbook.
func (o authoritiesOption) variables() (map[string]any, error) {
	all := []string{cluster.AuthorityCluster, cluster.AuthorityEtcd, cluster.AuthorityFrontProxy, cluster.AuthorityEtcdCalico}
	for _, name := range o.names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("--authority is %q: write %s", name, strings.Join(all, ", "))
		}
	}
	if !slices.Contains([]string{"", "trust", "sign"}, o.stopAfter) {
		return nil, fmt.Errorf("--stop-after is %q: write trust or sign", o.stopAfter)
	}
	names := []any{}
	for _, name := range all {
		if len(o.names) == 0 || slices.Contains(o.names, name) {
			names = append(names, name)
		}
	}
	out := map[string]any{"ca_authorities": names, "ca_stop_after": o.stopAfter}
	if o.again {
		out["ca_min_age"] = "0s"
	}
	return out, nil
}

// refuseExternal fails when an authority is external.
func (o authoritiesOption) refuseExternal(c *cluster.Cluster) error {
	if c.EtcdCalico == nil && slices.Contains(o.names, cluster.AuthorityEtcdCalico) {
		return usageError(fmt.Errorf("--authority is %s, and the cluster has none: cluster.network.calico.datastore is not etcd", cluster.AuthorityEtcdCalico))
	}
	var own []string
	refused := ""
	for _, name := range cluster.Authorities() {
		switch chosen := len(o.names) == 0 || slices.Contains(o.names, name); {
		case !c.External(name):
			own = append(own, "--authority "+name)
		case chosen && refused == "":
			refused = name
		}
	}
	switch {
	case refused == "":
		return nil
	case len(own) > 0:
		return fmt.Errorf("the %s authority is external: its owner replaces it; deployer rotates the others with %s", refused, strings.Join(own, " "))
	}
	return fmt.Errorf("the %s authority is external: its owner replaces it, and deployer has no key of it", refused)
}
