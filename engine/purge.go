package engine

// PurgeModule is the name of a module that every agent brings along, as
// [RevertModule]; its arguments are a Purge.
const PurgeModule = "purge_backups"

// Purge removes from a host what it keeps so that runs can be reverted. What is
// gone cannot be put back; a revert says so.
type Purge struct {
	// Run is the run that is meant; empty for all but the present one.
	Run string `json:",omitempty"`
	// All removes everything that is kept, not only what secret steps have replaced.
	All bool `json:",omitempty"`
}

// ID is the id of the step that carries the purge out.
func (p Purge) ID() string { return "purge:" + p.Run }
