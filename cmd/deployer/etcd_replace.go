package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/runs"
)

// replaceOptions are the flags of etcd replace.
type replaceOptions struct {
	runOptions
	etcdTarget
	yes  bool
	host string
}

func newEtcdReplace(e env) *cobra.Command {
	var o replaceOptions
	cmd := &cobra.Command{
		Use:   "replace HOST",
		Short: "Put a new member of etcd in the place of a broken one",
		Long: `Replace removes the etcd member of a host from the cluster, puts its data aside and adds
an empty member on the same host, which gets its data from the others. It is for a
member whose data is damaged or lost, that was removed by hand, or that stays a learner.

It shows its steps and asks for confirmation. It refuses unless all other members serve
and vote, and a majority is left without the host. The new member joins as a learner and
votes when it has caught up. The former data stays on the host, as before-ID in etcd's
data directory.

Continue an interrupted replacement with deployer resume, or with the same command. A
host that does not come back is removed with deployer scale-down --dead; an empty
machine under the same name gets its member from deployer apply.

With --events it replaces the host's member of the etcd cluster of events, with --calico that of
the etcd cluster of Calico.`,
		Example:           `  deployer etcd replace m2`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.host = args[0]
			return replaceMember(cmd.Context(), e, o)
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would be done")
	o.etcdTarget.flags(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	return cmd
}

func replaceMember(ctx context.Context, e env, o replaceOptions) error {
	given, err := o.resolve()
	if err != nil {
		return err
	}
	id := time.Now().UTC().Format("20060102-150405")
	given.Extra = map[string]any{"etcd_replace_host": o.host, "etcd_replace_id": id, "etcd_name": o.name()}
	asked := given
	asked.Check = false
	plan, err := newRunner(e).EtcdReplacePlan(asked)
	if err != nil {
		return err
	}
	if !plan.Project.Cluster.Nodes[o.host].IsEtcd {
		return usageError(fmt.Errorf("%s is no etcd host of the cluster", o.host))
	}
	target, err := o.of(plan.Project.Cluster)
	if err != nil {
		return err
	}
	found, err := o.plan(ctx, e, plan)
	if err != nil {
		return err
	}
	if o.output == "text" {
		found.print(e.stdout, o.host, target.DataDir+"/before-"+id)
	}
	if o.Check {
		return nil
	}
	if err := requireYes(e, o.yes, fmt.Sprintf("Replace the %s member of %s in the cluster %s?", o.name(), o.host, plan.Project.Cluster.Name)); err != nil {
		return err
	}
	r, err := newRunner(e).EtcdReplace(given)
	if err != nil {
		return err
	}
	r.ShareCredentials(plan)
	return execute(ctx, e, r, o.runOptions)
}

// plan returns the decision about the member, which its host has registered. A refusal is
// an error with exitRefused.
func (o replaceOptions) plan(ctx context.Context, e env, r *runs.Run) (*replacement, error) {
	found := &replacement{}
	done, err := runWithDisplay(ctx, r, o.progressDisplay(e.stderr, r.Hosts).with(found), r.Do)
	switch {
	case err != nil:
		return nil, err
	case done.Interrupted:
		return nil, exitSilently(exitInterrupted)
	case found.output != nil:
		return found, nil
	}
	reason := ""
	for _, h := range done.Broken() {
		if h.Host == o.host || reason == "" {
			reason = h.Failure.Message
		}
	}
	return nil, &exitError{exitRefused, fmt.Errorf("nothing was changed: %s: %s", o.host, cmp.Or(reason, "its host did not report"))}
}

// replacement keeps the output of the action etcd_replacement. replacement implements engine.Sink.
type replacement struct {
	mu     sync.Mutex
	output engine.Output
}

// Emit keeps the output.
func (r *replacement) Emit(e engine.Event) {
	out := e.ActionOutput()
	if out["remove_id"] == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output = out
}

// print prints the steps of the replacement. aside is the directory of the former data.
func (r *replacement) print(w io.Writer, host, aside string) {
	out := r.output
	is := func(key string) bool { set, _ := out[key].(bool); return set }
	var others []string
	list, _ := out["others"].([]any)
	for _, name := range list {
		others = append(others, fmt.Sprint(name))
	}
	id := fmt.Sprint(out["remove_id"])
	fmt.Fprintf(w, "the etcd member of %s is replaced; %s serve:\n", host, strings.Join(others, ", "))
	switch {
	case id == "":
		fmt.Fprintln(w, "  - the cluster lists no member for the host")
	case is("learner"):
		fmt.Fprintf(w, "  - member %s, a learner, is removed\n", id)
	case is("serves"):
		fmt.Fprintf(w, "  - member %s, which serves, is removed\n", id)
	default:
		fmt.Fprintf(w, "  - member %s, which does not serve, is removed\n", id)
	}
	if is("archive") {
		fmt.Fprintf(w, "  ~ its data is kept as %s\n", aside)
	}
	fmt.Fprintf(w, "  + an empty member joins as a learner, and votes when it has the data\n")
}
