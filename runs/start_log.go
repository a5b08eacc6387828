package runs

import (
	"os"
	"os/user"
	"strings"

	"deployer/engine/journal"
	"deployer/project"
)

// startLog creates the log of a run that changes hosts, and its record on hosts.
func (s *execution) startLog() error {
	if !s.logged || s.Check {
		return nil
	}
	dir, err := journal.Dir()
	if err != nil {
		return err
	}
	if s.storesPlan {
		from, err := StorePlan(s.applies)
		if err != nil {
			return err
		}
		s.applied = &from
	}
	header := s.header()
	if s.log, err = journal.Create(dir, header); err != nil {
		return err
	}
	s.hasLog = true
	s.events.add(s.log)
	return s.startRecord(header)
}

func (s *execution) header() journal.Header {
	h := journal.Header{Run: s.id, Started: s.started, Invocation: s.RecordedInvocation(), Files: s.Project.Digests(), Deployer: s.runner.Version,
		By: whoami(), PID: os.Getpid(), Resumes: s.resumes, Plan: s.applied}
	if s.Project.Cluster != nil {
		h.Versions = project.ClusterVersions(s.Project.Cluster)
	}
	return h
}

// whoami returns user@machine.
func whoami() string {
	name := "uid " + strings.TrimSpace(os.Getenv("UID"))
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	machine, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + machine
}
