package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/engine/sanitize"
	"deployer/project"
)

func newCIState(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:   "state",
		Short: "Show and sign the state of runs, and manage its key",
		Long: `State works on the state of runs: the verified revisions and the progress of the
deploy of each cluster, which refs/deployer/ keeps in the repository. A state counts only
with the signature of the service, for this repository, because everyone who may push may
change these refs.

The first run creates the key, in ci-state.key in the directory of the user's
configuration (~/.config/deployer). Other runners of the repository need the same key:
$DEPLOYER_CI_STATE_KEY has the key itself, $DEPLOYER_CI_STATE_KEY_FILE names a file.

A state names its repository: by the address of the remote origin, or by the directory of
a repository without one. Runners that reach it at different addresses name it with
$DEPLOYER_CI_STATE_REPOSITORY, or with git config deployer.stateRepository NAME.`,
	}, newCIStateShow(e), newCIStateSign(e), newCIStateRestore(e), newCIStateRotate(e), newCIStateKeygen(e), newCIStatePublicKey(e))
}

// withStates calls do with the states of the repository, while no run works on it.
func (o ciOptions) withStates(ctx context.Context, e env, do func(p *pipeline.Pipeline, all []repository.Review) error) error {
	p, err := o.open(ctx, "", e.stdout, nil)
	if err != nil {
		return err
	}
	defer p.Close(ctx)
	return p.WithStates(ctx, func() error {
		all, err := p.States.Review(ctx)
		if err != nil {
			return err
		}
		return do(p, all)
	})
}

// stateFlags adds the flags of the verbs that read states.
func (o *ciOptions) stateFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.repository, "repository", ".", "`directory` of the git repository: a work tree, or a bare repository")
	f.StringVar(&o.state, "state", "", "`directory` of --state of the runs, which has the newest states that this machine knows")
	f.StringVar(&o.new, "new", "", "`revision` whose deployer.ci.yaml names the remote that keeps the state (default: that of the CI system's environment, or HEAD)")
}

func newCIStateShow(e env) *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the state of each cluster, and whether it counts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withStates(cmd.Context(), e, func(p *pipeline.Pipeline, all []repository.Review) error {
				printStates(cmd.Context(), e.stdout, p, all)
				return nil
			})
		},
	}
	o.stateFlags(cmd)
	return cmd
}

func newCIStateSign(e env) *cobra.Command {
	var o ciOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "sign [INVENTORY...]",
		Short: "Sign states that do not count, after you have reviewed them",
		Long: `Sign shows the states that do not count, and signs them with the key of this machine:
states of a deployer that did not sign or did not name the repository, of another key that
was lost, of a repository that has moved, and states that were set back. Compare each with the cluster: the next run deploys the difference between
its verified revision and the branch, and continues the deploy that it has begun. A state
that is wrong makes a run skip gates, or leave hosts in the cluster.

A state that was deleted is accepted as none: the next run takes the cluster for a new
one.`,
		Example: `  deployer ci state sign
  deployer ci state sign clusters/berlin/inventory.yaml --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withStates(cmd.Context(), e, func(p *pipeline.Pipeline, all []repository.Review) error {
				chosen, err := statesOf(all, args)
				if err != nil {
					return err
				}
				chosen = slices.DeleteFunc(chosen, func(r repository.Review) bool { return r.Problem == nil })
				if len(chosen) == 0 {
					fmt.Fprintln(e.stdout, "nothing to do: every state counts")
					return nil
				}
				printStates(cmd.Context(), e.stdout, p, chosen)
				if err := requireYes(e, yes, "Sign these states?"); err != nil {
					return err
				}
				return signStates(cmd.Context(), e, p, chosen)
			})
		},
	}
	o.stateFlags(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not prompt for confirmation")
	return cmd
}

func newCIStateRestore(e env) *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "restore INVENTORY",
		Short: "Write the newest state of a cluster that this machine knows",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.withStates(cmd.Context(), e, func(p *pipeline.Pipeline, _ []repository.Review) error {
				if err := p.States.Restore(cmd.Context(), args[0]); err != nil {
					return project.AsUserError(err)
				}
				fmt.Fprintf(e.stdout, "restored: %s\n", args[0])
				return nil
			})
		},
	}
	o.stateFlags(cmd)
	return cmd
}

// statesOf returns the states of the inventories; without any, all.
func statesOf(all []repository.Review, inventories []string) (out []repository.Review, err error) {
	if len(inventories) == 0 {
		return all, nil
	}
	for _, inventory := range inventories {
		i := slices.IndexFunc(all, func(r repository.Review) bool { return r.Inventory == inventory })
		if i < 0 {
			return nil, usageError(fmt.Errorf("there is no state of %s; deployer ci state show lists them", inventory))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func signStates(ctx context.Context, e env, p *pipeline.Pipeline, states []repository.Review) error {
	for _, r := range states {
		if err := p.States.Sign(ctx, r.Inventory); err != nil {
			return project.AsUserError(err)
		}
		fmt.Fprintf(e.stdout, "signed: %s\n", r.Inventory)
	}
	return nil
}

// printStates prints what each state says, and why one does not count.
func printStates(ctx context.Context, w io.Writer, p *pipeline.Pipeline, states []repository.Review) {
	var b strings.Builder
	for _, r := range states {
		fmt.Fprintf(&b, "%s: ", sanitize.Line(r.Inventory))
		if r.Signer == "" {
			b.WriteString("not signed\n")
		} else {
			fmt.Fprintf(&b, "state %d of %s, signed with %s\n", r.Serial, r.Written.Format(time.RFC3339), r.Signer)
		}
		if r.Repository != "" {
			fmt.Fprintf(&b, "  repository: %q\n", r.Repository)
		}
		if r.Removed {
			b.WriteString("  the cluster was removed\n")
		}
		if r.Problem != nil {
			fmt.Fprintf(&b, "  does not count: %v\n", r.Problem)
		}
		for _, line := range stateLines(r.State, func(commit string) string { return describeCommit(ctx, p, commit) }) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	fmt.Fprint(w, p.Mask(b.String()))
}

// describeCommit returns a commit with its subject, and whether the branch has it.
func describeCommit(ctx context.Context, p *pipeline.Pipeline, commit string) string {
	if commit == "" {
		return "nothing"
	}
	if !repository.ObjectName(commit) {
		return fmt.Sprintf("%q, which is no commit", commit)
	}
	text := report.Short(commit)
	if subject := p.Repository.Subject(ctx, commit); subject != "" {
		text += fmt.Sprintf(" %q", subject)
	}
	if merged, err := p.IsMerged(ctx, commit); err != nil || !merged {
		text += ", outside of the branch"
	}
	return text
}
