package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/journal"
	"deployer/engine/record"
)

// recordOn returns the record of a run on a host.
func (s *testSite) recordOn(host int, run string) (header *journal.Header, events []engine.Event, text string) {
	s.t.Helper()
	data, err := os.ReadFile(s.recordPath(host, run))
	if err != nil {
		s.t.Fatal(err)
	}
	var lines strings.Builder
	content, err := record.Decode(s.t.Context(), run, data, func(h *journal.Header, e *engine.Event, line []byte) error {
		if h != nil {
			header = h
		} else {
			events = append(events, *e)
		}
		lines.Write(line)
		return nil
	})
	if err != nil || content.Damaged != nil {
		s.t.Fatalf("%v, %v", content, err)
	}
	return header, events, lines.String()
}

func (s *testSite) recordPath(host int, run string) string {
	return filepath.Join(s.fleet.Hosts[host].Root, agent.DefaultStateDir, "runs", run, "record")
}

// TestRecordOnHosts checks that the first hosts of a run keep its record, and no others:
// header, results and outcome, without secrets, outputs and diffs.
func TestRecordOnHosts(t *testing.T) {
	s := newTestSite(t, 4, map[string]string{"site.yaml": motd})
	for host := range 4 {
		s.writeHostFile(host, "late/ready", "")
	}
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=7", "-e", "token=hunter2")
	run := s.runs()[0].Header.Run
	for host := range 3 {
		header, events, text := s.recordOn(host, run)
		if header.Run != run || header.Invocation.Verb != "run" || fmt.Sprint(header.Invocation.Extra["release"]) != "7" || !slices.Equal(header.Invocation.Withheld, []string{"token"}) {
			t.Errorf("host %d: %+v", host, header)
		}
		ends := 0
		for _, e := range events {
			if e.Type == engine.EventStepEnd && e.Result.Status == engine.StatusChanged {
				ends++
			}
		}
		if last := events[len(events)-1]; ends != 8 || last.Report == nil || last.Report.Changed() != 8 {
			t.Errorf("host %d: %d changes, the last event is %+v", host, ends, last)
		}
		for _, secret := range []string{"hunter2", "diff", "@@"} {
			if strings.Contains(text, secret) {
				t.Errorf("host %d has %q in its record", host, secret)
			}
		}
	}
	if _, err := os.Stat(s.recordPath(3, run)); !os.IsNotExist(err) {
		t.Errorf("the fourth host has a record: %v", err)
	}
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=8", "-e", "token=hunter2", "--check")
	s.deployer(exitOK, "exec", "all", "--", "true")
	if all, _ := filepath.Glob(s.recordPath(0, "*")); len(all) != 1 {
		t.Errorf("dry runs and commands have records: %v", all)
	}
}
