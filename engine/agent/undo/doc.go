// Package undo backs up what the steps of runs replace on a host, and restores it.
//
// Before a module changes something, the agent calls [Store.Backup] for a file, which
// is copied, or [Store.BackupState] for any other resource, whose state the restorer of
// its kind reads and restores. [Store.RecordAfter] records what the step left. All of
// this is the backup log of the run (backup_log.go), beside the run's journal in the
// state directory.
//
// [Store.RevertModule] restores what a run has changed: change_set.go merges the records
// of a run into changes of resources, restore_plan.go decides about each resource by
// comparing what is there with what the run found and left, and restore.go restores
// files. A resource that has changed since is not restored unless the revert
// is forced. A revert backs up what it replaces, so it can be reverted too.
//
// Backups do not stay for ever: gc_runs.go has the limits, forget.go removes secrets,
// and [Store.PurgeModule] removes backups when the user asks for it.
//
// The agent is the only caller. Store may be used concurrently; it starts no goroutines.
package undo
