package engine

// PurgeModule is the name of a module that every agent has in addition to its
// registry, like [RevertModule]; its arguments are a Purge.
const PurgeModule = "purge_backups"

// Purge removes backups of runs from a host. A revert of such a run reports what it
// cannot restore.
type Purge struct {
	// Run is the run whose backups are removed; empty for all but the current run.
	Run string `json:",omitempty"`
	// All removes the backups of all steps, not only of secret steps.
	All bool `json:",omitempty"`
}

// BackupPurger is implemented by the System of an agent.
type BackupPurger interface {
	// PurgeModule returns the module that removes the backups of secrets of all runs
	// from the host, the present run included, or with all every backup.
	PurgeModule(all bool) Module
}

// ID returns the id of the step that does the purge.
func (p Purge) ID() string { return "purge:" + p.Run }
