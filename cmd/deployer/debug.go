package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine"
	"deployer/operations"
	"deployer/runs"
	"deployer/runs/debug"
	"deployer/runs/target"
)

// debugOptions are the flags of debug.
type debugOptions struct {
	runOptions
	images []string // archives; empty for the image that was built
	dir    string
	keep   bool
}

func newDebugCommand(e env) *cobra.Command {
	var o debugOptions
	cmd := &cobra.Command{
		Use:     "debug PATTERN... [-- COMMAND [ARG...]]",
		GroupID: "cluster",
		Short:   "Run a container with tools for debugging on hosts",
		Long: `Debug runs the image debug on the hosts of the patterns: a privileged container with the
host's network, processes and file system (below /host), and tools such as tcpdump,
strace, ltrace, etcdctl, ctr and kubectl. On one host it opens a shell on this terminal.
With a command after -- it runs that on all hosts in parallel and prints the output of
each; equal outputs are printed once. A single word after -- is a shell command line.

The container is started by the host's containerd, not by Kubernetes, so it works when
no API server answers. The image is sent to hosts that lack it. Container and image are
removed when the shell or the command ends, and when deployer is interrupted or killed
or the connection is lost; after a power cut of the host, the next debug removes them.

The image is the one that deployer images build debug has made, or that of --image. The
exit code is that of exec; of a shell it is 0.`,
		Example: `  deployer images build debug
  deployer debug n7
  deployer debug 'minion,!n7' -- 'tcpdump -c 20 -ni any port 53'
  deployer debug m1 -- ctr containers ls`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, words []string) error {
			patterns, command := words, []string{}
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				patterns, command = words[:at], words[at:]
				if len(command) == 0 {
					return usageError(errors.New("no command after --: leave -- out for a shell"))
				}
			}
			if len(patterns) == 0 {
				return usageError(errors.New("no host: name hosts, groups or roles before --"))
			}
			o.Limit = strings.Join(patterns, ",")
			return runDebug(cmd, e, command, o)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	forksFlag(cmd, &o.runOptions, "the inventory's, or 50")
	cmd.Flags().StringSliceVar(&o.images, "image", nil, "`archives` of another image, one for each architecture, as deployer images build writes them")
	cmd.Flags().StringVar(&o.dir, "dir", "", "directory of the built images (default: artifacts-src in deployer's cache)")
	cmd.Flags().BoolVar(&o.keep, "keep-image", false, "leave the image on the hosts, so that it is not sent again")
	return cmd
}

// session returns a session with a name of its own.
func (o debugOptions) session() (debug.Session, error) {
	s := debug.Session{Name: "debug-" + strings.ToLower(rand.Text()[:12]), KeepImage: o.keep}
	var err error
	if len(o.images) > 0 {
		s.Image, err = debug.OpenArchives(o.images)
		return s, err
	}
	dir, err := artifactsDir(o.dir)
	if err != nil {
		return s, err
	}
	s.Image, err = debug.OpenBuilt(dir)
	return s, err
}

// runDebug prepares the hosts of the limit and runs a command there, or a shell without one.
func runDebug(cmd *cobra.Command, e env, command []string, o debugOptions) error {
	in, _ := e.stdin.(*os.File)
	if len(command) == 0 && (in == nil || !term.IsTerminal(int(in.Fd()))) {
		return usageError(errors.New("a shell needs a terminal, and standard input is none: give a command after --"))
	}
	given, err := o.resolve()
	if err != nil {
		return err
	}
	s, err := o.session()
	if err != nil {
		return err
	}
	r, err := newRunner(e).Debug(s, given)
	if err != nil {
		return err
	}
	if len(command) == 0 && len(r.Hosts) > 1 {
		return usageError(fmt.Errorf("a shell runs on one host, and %s names %d: give a command after --", o.Limit, len(r.Hosts)))
	}
	results := &execResults{}
	report, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.Hosts).with(results), r.Do)
	if err != nil {
		return err
	}
	connector, err := r.OpenConnector()
	if err != nil {
		return err
	}
	defer connector.Close()
	if report.Interrupted {
		cleanHosts(connector, r, s)
		return exitSilently(exitInterrupted)
	}
	prepared := preparedHosts(report)
	if len(command) == 0 && len(prepared) == 1 {
		return debugShell(cmd.Context(), connector, prepared[0], s, in, e.stdout)
	}
	outputs := debugCommands(cmd.Context(), connector, prepared, s.Command(command), r.Parallelism())
	return printDebugResults(e, o, report, results, outputs)
}

// preparedHosts returns the hosts that are ready for the session.
func preparedHosts(report *engine.Report) []string {
	broken := map[string]bool{}
	for _, h := range report.Broken() {
		broken[h.Host] = true
	}
	var out []string
	for _, h := range report.Hosts {
		if !broken[h.Host] {
			out = append(out, h.Host)
		}
	}
	return out
}

// cleanTimeout bounds the removal of an interrupted session on all hosts. The next
// session removes the rest.
const cleanTimeout = time.Minute

// cleanHosts removes an interrupted session from the hosts that were prepared for it.
func cleanHosts(connector *target.Connector, r *runs.Run, s debug.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	debugCommands(ctx, connector, r.Hosts, s.Clean(), r.Parallelism())
}

// printDebugResults prints the results of all hosts: outputs of commands, and failures of hosts
// that could not be prepared.
func printDebugResults(e env, o debugOptions, report *engine.Report, failed *execResults, outputs map[string]execResult) error {
	all := failed.inOrder(report)
	ok := 0
	for i, result := range all {
		if output, ran := outputs[result.Host]; ran {
			all[i] = output
		}
		if all[i].Status == engine.StatusOK {
			ok++
		}
	}
	var err error
	if o.output == "json" {
		err = printJSON(e.stdout, all)
	} else {
		err = printExecResults(e.stdout, all)
	}
	switch {
	case err != nil:
		return err
	case ok == len(all):
		return nil
	case slices.ContainsFunc(all, func(r execResult) bool { return r.Status == engine.StatusCancelled }):
		return exitSilently(exitInterrupted)
	case ok == 0 && !allUnreachable(report):
		return exitSilently(exitFailed)
	case ok == 0:
		return operations.Outcome(report)
	}
	return exitSilently(exitPartial)
}
