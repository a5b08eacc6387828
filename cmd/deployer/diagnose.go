package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/runs/diagnose"
	"deployer/runs/diagnose/rules"
)

// diagnoseLogBytes is the maximum size of the log of one unit. An output of a task has at
// most 1 MiB.
const diagnoseLogBytes = 400_000

// diagnoseLines is the number of findings that the terminal shows; the archive has all.
const diagnoseLines = 20

// diagnoseOptions are the flags of diagnose.
type diagnoseOptions struct {
	runOptions
	file  string
	since time.Duration
	mib   int
}

func newDiagnoseCommand(e env) *cobra.Command {
	var o diagnoseOptions
	cmd := &cobra.Command{
		Use:     "diagnose [HOST...]",
		GroupID: "cluster",
		Short:   "Collect logs and states of hosts in one archive, and say what looks wrong",
		Long: `Diagnose collects versions, states and logs of units and static pods, the state
of etcd, certificates, disks, network and the journals of runs from the hosts, in
parallel, into one archive that only its owner can read. Its first page, README.md,
lists likely faults, the worst first, with evidence and advice.

It changes nothing on the hosts, takes no lock, and needs neither a healthy API server nor
root on this machine. A host that cannot be reached is a line of the first page. Secrets
of the inventory, private keys, tokens and passwords are removed; environments and
arguments of processes, kubeconfigs and Secrets are never read.

The exit code is 5 when something looks wrong.`,
		Example: `  deployer diagnose
  deployer diagnose m1 'n[1:9]' --since 2h --file case-17.tar.gz`,
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.output, o.Limit = "text", strings.Join(args, ",")
			if err := o.check(); err != nil {
				return usageError(err)
			}
			return runDiagnose(cmd, e, o)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	forksFlag(cmd, &o.runOptions, "forks of the inventory, or 50")
	cmd.Flags().StringVarP(&o.file, "file", "o", "", "`archive` to write, .tar.zst or .tar.gz (default: diagnose-CLUSTER-TIME.tar.zst)")
	cmd.Flags().DurationVar(&o.since, "since", 24*time.Hour, "collect only logs that are not older than this `time`")
	cmd.Flags().IntVar(&o.mib, "max-mib", 16, "maximum size of the files of one host in MiB, before compression")
	return cmd
}

// check refuses values with which no run is possible.
func (o diagnoseOptions) check() error {
	switch {
	case o.since < time.Second:
		return errors.New("--since must be 1s or more")
	case o.mib < 1:
		return errors.New("--max-mib must be 1 or more")
	case o.file != "" && !slices.ContainsFunc(diagnose.Formats, func(end string) bool { return strings.HasSuffix(o.file, end) }):
		return fmt.Errorf("--file %s: the name must end in %s", o.file, strings.Join(diagnose.Formats, ", "))
	}
	return nil
}

func runDiagnose(cmd *cobra.Command, e env, o diagnoseOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	given.Extra = map[string]any{"diagnose_since": fmt.Sprintf("-%ds", int(o.since.Seconds())), "diagnose_bytes": diagnoseLogBytes}
	r, err := newRunner(e).Diagnose(given)
	if err != nil {
		return err
	}
	collector, err := diagnose.NewCollector(int64(o.mib) << 20)
	if err != nil {
		return err
	}
	defer collector.Close()
	site := diagnose.Site{Cluster: r.Project.Cluster, Version: version, Started: time.Now()}
	site.Name = diagnose.DefaultName(site.Cluster.Name, site.Started)
	if o.file == "" {
		o.file = site.Name + diagnose.Formats[0]
	}
	done, err := runWithDisplay(cmd.Context(), r, o.display(e.stderr, r.Hosts).with(collector), r.Do)
	if err != nil {
		return err
	}
	return writeDiagnosis(e, collector, o.file, site, done)
}

// writeDiagnosis writes the archive and prints the worst findings.
func writeDiagnosis(e env, c *diagnose.Collector, file string, site diagnose.Site, done *engine.Report) error {
	var findings []rules.Finding
	err := writePrivateWith(file, func(w io.Writer) (err error) {
		findings, err = c.Write(w, file, site, done)
		return err
	})
	if err != nil {
		return err
	}
	if err := printFindings(e.stdout, findings); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s\nwrote %s; its first page is %s\n", diagnose.Summary(done, findings), file, filepath.Join(site.Name, "README.md"))
	switch {
	case done.Interrupted:
		return exitSilently(exitInterrupted)
	case rules.Count(findings, rules.Critical)+rules.Count(findings, rules.Warning) > 0:
		return exitSilently(exitUnhealthy)
	}
	return nil
}

// printFindings prints the worst findings, a line each.
func printFindings(w io.Writer, findings []rules.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEVERITY\tHOST\tPROBLEM\tEVIDENCE")
	for i, f := range findings {
		if i == diagnoseLines {
			break
		}
		host := f.Host
		if host == "" {
			host = "cluster"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Severity, host, f.Title, shortened(strings.Join(strings.Fields(f.Evidence), " "), 100))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := len(findings) - diagnoseLines; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
	_, err := fmt.Fprintln(w)
	return err
}

// shortened returns at most n bytes of a text.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}
