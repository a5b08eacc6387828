package runs

import (
	"os"
	"slices"
	"time"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/record"
)

// maxKeepers is the number of hosts that keep the record of a run without masters: with
// three of them, one that is replaced and one that is down leave a record.
const maxKeepers = 3

// startRecord begins the record of a run on its keepers. Commands of exec have none, as
// they must run while a disk is full.
func (s *execution) startRecord(h journal.Header) error {
	keepers := s.recordKeepers()
	if s.unlocked || len(keepers) == 0 {
		return nil
	}
	o := record.Options{Header: h, Keepers: keepers, Warn: func(text string) {
		s.events.Emit(engine.Event{Time: time.Now(), Type: engine.EventWarning, Text: text})
	}}
	if h.Plan != nil {
		// No other machine can resume a plan whose file is gone.
		o.Plan, _ = os.ReadFile(h.Plan.File)
	}
	var err error
	if s.recorder, err = record.New(o); err != nil {
		return err
	}
	s.events.add(s.recorder)
	return nil
}

// recordKeepers returns the hosts that keep the record of the run: the masters when the
// run locks them, and otherwise its first hosts, masters before others.
func (s *execution) recordKeepers() []string {
	if lock := s.lockOptions(s.started); lock != nil && len(lock.Guards) > 0 {
		return lock.Guards
	}
	hosts := s.TargetHosts()
	if c := s.Project.Cluster; c != nil {
		isMaster := func(host string) bool { return slices.Contains(c.Masters, host) }
		masters := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return !isMaster(host) })
		hosts = append(masters, slices.DeleteFunc(hosts, isMaster)...)
	}
	return hosts[:min(len(hosts), maxKeepers)]
}
