package operations

import (
	"deployer/cluster"
	"deployer/cluster/compare"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/project"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/tasks/control/report"
)

// Result is what an operation has found or done, one of the types below.
type Result interface{ result() }

// Survey is what differs between a cluster and its inventory.
type Survey struct {
	Cluster string // name
	compare.Result
}

// FailedCheck is a check of hosts that did not complete, so that there is no plan.
type FailedCheck struct {
	Run    *runs.Run
	Report *engine.Report
}

// Plan is what a run would change.
type Plan struct {
	Run  *runs.Run
	Plan *plan.Plan
}

// UpgradePlan is what an upgrade would change, and in which order. The plan of its steps
// follows it.
type UpgradePlan struct {
	Versions VersionChanges
	Options  UpgradeOptions
	Project  *project.Project
	Limits   cluster.Rollout
	Steps    [][]StepHosts
}

// RunEnded is the report of a run.
type RunEnded struct {
	Run    *runs.Run
	Report *engine.Report
	// Final is set when the operation goes on with the hosts, so that the run is not to be
	// continued.
	Final bool
}

// RemainingProblems are rows of checks at the end of an install that no run repairs.
type RemainingProblems []report.Row

// UpgradeEnded is an upgrade after its run.
type UpgradeEnded struct {
	Run      *runs.Run
	Snapshot Snapshot
	// RollsBack is set when the rollback of the upgrade follows.
	RollsBack bool
}

// RollingBack is a failed upgrade that is rolled back at once.
type RollingBack struct{ Run string }

// LoweredVersions are the irreversible changes of a rollback, a line for each; see
// runs.Revert.Lowered.
type LoweredVersions []string

// RollbackOf are the ids of the runs of an upgrade, which are reverted in this order.
type RollbackOf []string

// RevertedRecord is the log of a run that is reverted. That of a run of another machine comes
// from hosts, and makes claims; see history.Entry.Claims.
type RevertedRecord struct {
	*history.Entry
	Claims []string
}

// RevertPreview is what a revert will restore.
type RevertPreview struct {
	Revert  *runs.Revert
	Preview *runs.RevertPreview
}

// Unrestored are the resources that a revert could not restore.
type Unrestored struct {
	Of     journal.Invocation
	Left   []runs.Irreversible
	Report *engine.Report
}

// RolledBack is a rollback after its last run.
type RolledBack struct {
	Inventory string // its path
	// To is the version of upgrade --to; empty for that of the inventory.
	To string
}

func (Survey) result()            {}
func (FailedCheck) result()       {}
func (Plan) result()              {}
func (UpgradePlan) result()       {}
func (RunEnded) result()          {}
func (RemainingProblems) result() {}
func (UpgradeEnded) result()      {}
func (RollingBack) result()       {}
func (LoweredVersions) result()   {}
func (RollbackOf) result()        {}
func (RevertedRecord) result()    {}
func (RevertPreview) result()     {}
func (Unrestored) result()        {}
func (RolledBack) result()        {}
