package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"deployer/inventory"
	"deployer/runs"
)

// scaleDownOptions are the flags of scale-down.
type scaleDownOptions struct {
	runOptions
	dead, keepNode, yes, allowMasters              bool
	wipe, deleteEmptyDirData, force, disableBudget bool
	drainTimeout                                   time.Duration
}

func newScaleDownCommand(e env) *cobra.Command {
	var o scaleDownOptions
	cmd := &cobra.Command{
		Use:     "scale-down HOST...",
		GroupID: "cluster",
		Short:   "Take hosts out of the cluster",
		Long: `Scale-down takes hosts out of the cluster while it is in use: masters, minions, etcd
members, proxies, any of them, the first master as well. HOST is a pattern: names,
ranges n[1:3], globs, groups.

It reports all reasons against it before it changes anything: etcd would lose its
quorum, no other host has the function, pods would lose data or cannot be recreated, a
PodDisruptionBudget never allows the eviction. Then it cordons and drains the nodes,
takes the hosts out of the configuration of all others, removes their etcd members one
at a time, deletes Node and Lease, and ends and removes what it has installed on them.

Data of etcd, container images and disks stay on the hosts unless --wipe is set.
Afterwards take the hosts out of the inventory, or the next install adds them again.

With --keep-node masters become minions: API server and etcd member leave, the node and
its pods stay. The inventory names them among the masters until the command has ended.

With --dead hosts that do not come back are removed from the cluster, and nothing is
done on them; HOST may then also be the name of a Node or of an etcd member that the
inventory does not have.

Run the same command again after an interrupt or a kill: it continues.`,
		Example: `  deployer scale-down n17
  deployer scale-down m1 --wipe
  deployer scale-down m5 --keep-node
  deployer scale-down --dead m3 --yes --allow-masters`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra, given.KeepNodes = o.playbookVars(), o.keepNode
			r, err := newRunner(e).ScaleDown(runs.ScaleDownOptions{Options: given, Hosts: args, Dead: o.dead})
			if err != nil {
				return err
			}
			if err := o.confirm(e, r); err != nil {
				return err
			}
			if err := execute(cmd.Context(), e, r, o.runOptions); err != nil || o.Check || o.output != "text" {
				return err
			}
			printDeparted(e, r)
			return nil
		},
	}
	runFlags(cmd, &o.runOptions)
	lockFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	f.BoolVar(&o.dead, "dead", false, "the hosts do not come back: do nothing on them, and let the cluster forget them")
	f.BoolVar(&o.keepNode, "keep-node", false, "masters become minions: their API servers and etcd members leave, their nodes and pods stay")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation; masters need --allow-masters too")
	f.BoolVar(&o.allowMasters, "allow-masters", false, "with --yes: masters may leave")
	f.BoolVar(&o.wipe, "wipe", false, "also delete etcd's data, container images and logs of pods on the hosts")
	f.DurationVar(&o.drainTimeout, "drain-timeout", 10*time.Minute, "maximum duration of the drain of a node; after it the nodes are uncordoned and nothing has left")
	f.BoolVar(&o.deleteEmptyDirData, "delete-emptydir-data", false, "evict pods with emptyDir volumes too, whose data is lost")
	f.BoolVar(&o.force, "force", false, "evict pods that no controller recreates too")
	f.BoolVar(&o.disableBudget, "disable-eviction", false, "delete pods instead of evicting them, without regard to PodDisruptionBudgets")
	return cmd
}

// playbookVars returns the variables of the playbook scale-down.
func (o scaleDownOptions) playbookVars() map[string]any {
	return map[string]any{
		"wipe": o.wipe, "drain_timeout": o.drainTimeout.String(), "delete_emptydir_data": o.deleteEmptyDirData,
		"force": o.force, "disable_eviction": o.disableBudget,
	}
}

// confirm prompts before a run that changes hosts: for yes, or for the names of the
// masters that leave.
func (o scaleDownOptions) confirm(e env, r *runs.Run) error {
	d := r.Project.Departure
	masters := inventory.CompressText(d.Masters)
	switch {
	case o.Check:
		return nil
	case o.yes && len(d.Masters) > 0 && !o.allowMasters:
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: %s would leave the masters; confirm with --yes --allow-masters", masters)}
	case len(d.Masters) == 0 || o.yes:
		return requireYes(e, o.yes, fmt.Sprintf("Take %s out of the cluster %s?", inventory.CompressText(slices.Concat(d.Hosts, d.Dead)), r.Project.Cluster.Name))
	case !isTerminal(e.stdin):
		return &exitError{exitRefused, errors.New("nothing was changed: standard input is not a terminal; confirm with --yes --allow-masters")}
	}
	return requireText(e, fmt.Sprintf("%s leave the masters of the cluster %s. Type %s to confirm:", masters, r.Project.Cluster.Name, masters), masters)
}

// printDeparted prints the lines of the inventory that the user has to change.
func printDeparted(e env, r *runs.Run) {
	text := "The hosts have left the cluster. Take them out of the inventory, or the next install brings them back:"
	if r.Project.Departure.KeepNodes {
		text = "The hosts are minions now. Change their role in the inventory, or the next install makes them masters again:"
	}
	fmt.Fprintf(e.stdout, "\n%s\n", text)
	for _, name := range slices.Concat(r.Project.Departure.Hosts, r.Project.Departure.Dead) {
		if h, ok := r.Project.Inventory.Host(name); ok {
			fmt.Fprintf(e.stdout, "  %s: %s\n", h.Pos, name)
		}
	}
	if n := len(r.Project.Cluster.Etcd.Members); n%2 == 0 {
		fmt.Fprintf(e.stdout, "etcd has %d members now, which survive no more failures than %d: take out or add one more, or set cluster.etcd.allow_even: true.\n", n, n-1)
	}
}
