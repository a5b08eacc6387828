package undo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/agent/statedir"
)

func testStore(t *testing.T) (*Store, string) {
	t.Helper()
	root := t.TempDir()
	return Open(statedir.Open(root+agenttest.StateDir), engine.Registry{}, root), root
}

func TestOldRunsAreRemoved(t *testing.T) {
	s, root := testStore(t)
	runs := root + agenttest.StateDir + "/runs/"
	made := func(name string, kept bool, age time.Duration) {
		agenttest.WriteAged(t, runs+name+"/journal.jsonl", "", 0o600, 0)
		if kept {
			agenttest.WriteAged(t, runs+name+"/kept.jsonl", "", 0o600, 0)
			agenttest.WriteAged(t, runs+name+"/kept/000000", "0123456789", 0o600, 0)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(runs+name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keptRuns + 2 {
		made(fmt.Sprintf("k%02d", i), true, time.Duration(i+1)*time.Hour)
	}
	for i := range keptRunsWithoutBackup + 3 {
		made(fmt.Sprintf("b%02d", i), false, time.Duration(i+1)*time.Minute)
	}
	if _, err := s.dir.Journal("new"); err != nil {
		t.Fatal(err)
	}
	s.dir.Close()
	left, _ := filepath.Glob(runs + "*")
	for name, stays := range map[string]bool{"new": true, "k00": true, "k09": true, "k10": false, "b18": true, "b19": false} {
		if slices.Contains(left, runs+name) != stays {
			t.Errorf("%s: stays should be %t; left are %v", name, stays, left)
		}
	}
	if len(left) != keptRuns+keptRunsWithoutBackup || bytesIn(runs+"k00/kept") != 10 {
		t.Errorf("%d runs are left", len(left))
	}
}

func TestStaleByBytes(t *testing.T) {
	now := time.Now()
	run := func(name string, age int, bytes int64) storedRun {
		return storedRun{name: name, used: now.Add(-time.Duration(age) * time.Hour), kept: true, bytes: bytes}
	}
	tests := map[string]struct {
		runs []storedRun
		want []string
	}{
		"no runs: none is removed":                {},
		"the newest stays, however large":         {runs: []storedRun{run("a", 1, 3*keptBytes)}},
		"the oldest are removed":                  {runs: []storedRun{run("c", 3, 1), run("a", 1, keptBytes/2), run("b", 2, keptBytes/2)}, want: []string{"c"}},
		"runs older than a large run are removed": {runs: []storedRun{run("a", 1, 1), run("b", 2, keptBytes), run("c", 3, 1)}, want: []string{"b", "c"}},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, runsToRemove(tt.runs)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
