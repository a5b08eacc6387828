// Package timelog reads the timeline of a run from its log.
package timelog

import (
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/runs/timeline"
)

// Read returns the timeline of the run whose log is at path. Of a damaged log it is what
// could be read.
func Read(r *journal.Record, path string) (*timeline.Timeline, error) {
	c := timeline.NewCollector(r.Header.Started)
	err := journal.Scan(path, func(_ *journal.Header, e *engine.Event) error {
		if e != nil {
			c.Add(*e)
		}
		return nil
	})
	if err != nil && r.Damaged == nil {
		return nil, err
	}
	return c.Timeline(r.Hosts), nil
}
