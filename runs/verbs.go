package runs

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine/journal"
)

// verb has what the runs of a verb have in common after they have ended.
type verb struct {
	// again makes a run with the invocation of an earlier one; nil: the record of a run is not enough to
	// repeat it.
	again func(Runner, Options) (*Run, error)
	// resumable runs go on where they ended. Runs of exec do not: a command is not repeated. Neither do
	// backups of etcd: a new snapshot is newer.
	resumable bool
	reverted  reversal
	// undo returns how a run is taken back that is not reverted step by step; nil: it changes nothing.
	undo func(journal.Invocation) string
}

// reversal is how a revert finds the tasks of a run.
type reversal int

const (
	notStepByStep     reversal = iota // not at all
	byItsProgram                      // its playbook is compiled again
	withoutItsProgram                 // its playbook is unknown
	byTheFirstRun                     // it was a revert of another run
)

// verbs are the verbs whose runs change something. A run of any other one is neither repeated from its
// record nor reverted.
var verbs = map[string]verb{
	journal.VerbInstall: {again: Runner.Install, resumable: true, reverted: byItsProgram},
	journal.VerbStart:   {again: Runner.changing},
	journal.VerbUpgrade: {again: Runner.Upgrade, resumable: true, reverted: byItsProgram},
	journal.VerbRun:     {again: Runner.Playbook, resumable: true, reverted: byItsProgram},
	journal.VerbRevert:  {resumable: true, reverted: byTheFirstRun},
	journal.VerbExec:    {reverted: withoutItsProgram},
	journal.VerbUnknown: {reverted: withoutItsProgram},

	journal.VerbScaleUp:   {again: Runner.changing, resumable: true, undo: undoScaleUp},
	journal.VerbScaleDown: {again: Runner.changing, resumable: true, undo: undoScaleDown},
	journal.VerbReset:     {again: Runner.changing, resumable: true, undo: saying("the cluster comes back with: deployer install")},

	journal.VerbCertsRenew:          {again: Runner.changingWithoutArtifacts, resumable: true},
	journal.VerbCertsRequests:       {again: Runner.changingWithoutArtifacts, resumable: true},
	journal.VerbRotateCA:            {again: Runner.changing, resumable: true, undo: saying("another rotation replaces the authorities again")},
	journal.VerbRotateEncryptionKey: {again: Runner.changing, resumable: true, undo: saying("another rotation replaces the key again")},

	journal.VerbEtcdDefrag:       {again: Runner.changingWithoutArtifacts, resumable: true},
	journal.VerbEtcdReplace:      {again: Runner.changingWithoutArtifacts, resumable: true, undo: saying("the data of the former member is kept in its data directory, as before-ID")},
	journal.VerbEtcdRestore:      {again: Runner.changingWithoutArtifacts, resumable: true, undo: saying(dataIsKept)},
	journal.VerbEtcdReaddress:    {again: Runner.changing, resumable: true, undo: saying(dataIsKept)},
	journal.VerbEtcdRestoreHosts: {again: Runner.changing, resumable: true, undo: saying("the hosts are empty again with: deployer reset --wipe")},

	journal.VerbNetworkPlugin:    {again: Runner.changing, resumable: true, undo: saying(pluginStays)},
	journal.VerbNetworkPluginBGP: {again: Runner.changing, resumable: true, undo: saying(pluginStays)},
}

const (
	dataIsKept  = "the data that each member had before is kept in its data directory, as before-ID"
	pluginStays = "a node that has changed its network plugin keeps it; the same command continues the change"
)

func saying(text string) func(journal.Invocation) string {
	return func(journal.Invocation) string { return text }
}

func undoScaleUp(call journal.Invocation) string {
	return "the hosts leave with: deployer scale-down " + strings.Join(call.Joining, " ")
}

func undoScaleDown(call journal.Invocation) string {
	if call.KeepNodes {
		return "the hosts are masters again with: deployer scale-up " + strings.Join(call.Leaving, " ")
	}
	return "the hosts come back with: deployer scale-up " + strings.Join(append(slices.Clone(call.Leaving), call.Dead...), " ")
}

// again returns a run of the verb in the options, whose record was made by an earlier run.
func (c Runner) again(o Options) (*Run, error) {
	run := verbs[o.Verb].again
	if run == nil {
		return nil, fmt.Errorf("a run of deployer %s cannot be repeated from its log; give the command again", o.Verb)
	}
	return run(c, o)
}

// Resumable reports whether runs of an invocation can be resumed.
func Resumable(c journal.Invocation) bool { return verbs[c.Verb].resumable }
