package main

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/view"
	"deployer/runs/history"
)

func newRunsTail(e env) *cobra.Command {
	var output string
	var verbose int
	cmd := &cobra.Command{
		Use:   "tail [RUN]",
		Short: "Follow a run from another terminal",
		Long: `Tail shows a run of this machine from its start until it ends. Without RUN it shows
the last run. An interrupt ends tail, not the run.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(anyRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := history.Local()
			if err != nil {
				return err
			}
			r, err := findRun(known, args)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			var show view.Renderer
			o := view.Options{Verbose: verbose, Hosts: r.Hosts}
			switch f, terminal := e.stdout.(*os.File); {
			case output == "json":
				show = view.JSON(e.stdout)
			case r.Outcome == journal.Running && terminal && term.IsTerminal(int(f.Fd())):
				show = view.Live(e.stdout, o)
			default:
				show = view.Replay(e.stdout, o)
			}
			var report *engine.Report
			err = journal.Follow(ctx, r.Path, func(_ *journal.Header, ev *engine.Event) error {
				if ev != nil {
					show.Emit(*ev)
					report = ev.Report
				}
				return nil
			})
			show.Close()
			if err != nil || output == "json" {
				return err
			}
			if report != nil {
				view.Summary(e.stdout, runName(r.Header.Invocation), report, "")
			} else if ctx.Err() == nil {
				fmt.Fprintf(e.stdout, "run %s was killed\n", r.Header.Run)
			}
			return nil
		},
	}
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show unchanged steps and diffs; -vv also shows skipped steps and waits")
	return cmd
}
