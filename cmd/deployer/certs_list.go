package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/engine/sanitize"
	"deployer/runs"
)

func newCertsList(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:   "list [HOST...]",
		Short: "Show the certificates of all hosts and when they expire",
		Long: `List shows every certificate that deployer has issued, those that kubelets have renewed
themselves, and those of the authorities, the worst first. It reads the files on the
hosts over SSH, so it works while the API and etcd are down.

The state is ok, expiring (less than 30 days are left, or a twelfth of the lifetime of
the inventory where that is less), expired, missing, authority (another one has signed
it), names (they differ from the inventory), damaged, or access (owner or mode).

Exit code 5 means that a certificate is not ok, 3 that all are but some hosts could not
be examined.`,
		Example: `  deployer certs list
  deployer certs list m1 'n[1:9]' -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.output, o.Limit = "text", strings.Join(args, ",")
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).CertsList(given)
			if err != nil {
				return err
			}
			found := &runs.Certificates{}
			done, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.Hosts).with(found), r.Do)
			if err != nil {
				return err
			}
			if done.Interrupted {
				return exitSilently(exitInterrupted)
			}
			list := certificateList{Certificates: found.All(r.Project.Cluster, time.Now()), Unexamined: []unexaminedHost{}}
			for _, h := range done.Broken() {
				list.Unexamined = append(list.Unexamined, unexaminedHost{h.Host, h.Failure.Message})
			}
			if output == "json" {
				err = printJSON(e.stdout, list)
			} else {
				err = list.print(e.stdout)
			}
			if err != nil {
				return err
			}
			return list.exit()
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// certificateList is the output of certs list.
type certificateList struct {
	Certificates []cluster.CertificateState `json:"certificates"`
	Unexamined   []unexaminedHost           `json:"unexamined"`
}

// unexaminedHost is a host whose certificates could not be read.
type unexaminedHost struct {
	Host   string `json:"host"`
	Reason string `json:"reason"`
}

func (l certificateList) print(w io.Writer) error {
	sanitize.Fields(&l)
	for _, h := range l.Unexamined {
		fmt.Fprintf(w, "%s could not be examined: %s\n", h.Host, h.Reason)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE\tEXPIRES (UTC)\tDAYS\tHOST\tNAME\tAUTHORITY\tSUBJECT")
	for _, c := range l.Certificates {
		expires, days := "-", "-"
		if !c.Expires.IsZero() {
			expires, days = c.Expires.UTC().Format("2006-01-02 15:04"), fmt.Sprint(c.DaysLeft)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.State, expires, days, c.Host, c.Name, c.Authority, c.Subject)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	bad := l.bad()
	if len(bad) == 0 {
		_, err := fmt.Fprintf(w, "\n%d certificates, all ok\n", len(l.Certificates))
		return err
	}
	fmt.Fprintln(w)
	for _, c := range bad {
		fmt.Fprintf(w, "%s  %s: %s\n", c.Host, c.Path, c.Detail)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d certificates are not ok\n", len(bad), len(l.Certificates))
	return err
}

// bad returns the certificates that are not ok.
func (l certificateList) bad() []cluster.CertificateState {
	var out []cluster.CertificateState
	for _, c := range l.Certificates {
		if c.State != cluster.CertificateOK {
			out = append(out, c)
		}
	}
	return out
}

func (l certificateList) exit() error {
	switch {
	case len(l.bad()) > 0:
		return exitSilently(exitUnhealthy)
	case len(l.Unexamined) > 0:
		return exitSilently(exitPartial)
	}
	return nil
}
