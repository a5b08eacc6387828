package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/runs"
)

// env has the standard streams of the process.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// started gets the runs of verbs in the place of their execution; nil to execute them.
	started func(*runs.Run)
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(env{stdin: stdin, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !isSilent(err) {
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
	root.Flags().Bool("version", false, "print the version") // no -v: verbs use it for --verbose
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w%s; see `%s --help`", err, subcommandHint(cmd), cmd.CommandPath()))
	})
	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "playbooks", Title: "User playbooks:"},
		&cobra.Group{ID: "runs", Title: "Runs:"},
		&cobra.Group{ID: "input", Title: "Inventory, secrets and artifacts:"},
	)
	for _, c := range verbs(e) {
		c.Args = usageArgs(c.Args)
		root.AddCommand(c)
	}
	return root
}

// group completes a command that has only subcommands.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := cobra.NoArgs(cmd, args); err != nil {
			return fmt.Errorf("%w%s", err, subcommandHint(cmd))
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

// subcommandHint lists the subcommands of a command, for errors such as that of
// `deployer plan site.yaml`, in which the subcommand is missing.
func subcommandHint(cmd *cobra.Command) string {
	if !cmd.HasParent() || !cmd.HasSubCommands() {
		return ""
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		verbs = append(verbs, "`"+cmd.CommandPath()+" "+c.Use+"`")
	}
	return "; use " + strings.Join(verbs, " or ")
}

// usageArgs gives errors of the arguments exitUsage.
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
