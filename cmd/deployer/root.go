package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// env is what a verb gets from the process.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// run is main without the process: arguments in, exit code out. Tests call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(env{stdin, stdout, stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var e *exitError
	if err != nil && (!errors.As(err, &e) || e.err != nil) {
		fmt.Fprintf(stderr, "deployer: %v\n", err)
	}
	return exitCode(err)
}

func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:   "deployer",
		Short: "Install and run highly available Kubernetes on your own hosts",
		Long: `deployer reads an inventory that maps hosts to roles and makes them a highly
available Kubernetes cluster, over plain SSH, in parallel, and with nothing
preinstalled on the hosts but sshd. Run it again at any time: it changes only
what differs.`,
		Version:       versionLine(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // no -v, which verbs have for something else
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w%s; see `%s --help`", err, below(cmd), cmd.CommandPath()))
	})
	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "playbooks", Title: "Playbooks of your own:"},
		&cobra.Group{ID: "runs", Title: "Runs:"},
		&cobra.Group{ID: "input", Title: "Before it runs:"},
	)
	for _, c := range verbs(e) {
		c.Args = usageArgs(c.Args)
		root.AddCommand(c)
	}
	return root
}

// group completes a verb that only has others below it.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := cobra.NoArgs(cmd, args); err != nil {
			return fmt.Errorf("%w%s", err, below(cmd))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, verb := range verbs {
		verb.Args = usageArgs(verb.Args)
		cmd.AddCommand(verb)
	}
	return cmd
}

// below says which verbs have to come before what was given to a verb that only has
// others below it: `deployer plan site.yaml` leaves out what is planned.
func below(cmd *cobra.Command) string {
	if !cmd.HasParent() || !cmd.HasSubCommands() {
		return ""
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		verbs = append(verbs, "`"+cmd.CommandPath()+" "+c.Use+"`")
	}
	return ", it is " + strings.Join(verbs, " or ")
}

// usageArgs gives wrong arguments the exit code of wrong usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError(fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath()))
		}
		return nil
	}
}
