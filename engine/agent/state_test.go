package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func testState(t *testing.T) (*state, string) {
	t.Helper()
	root := t.TempDir()
	return openState(ServeOptions{Root: root, StateDir: DefaultStateDir}), root
}

func put(t *testing.T, path, content string, mode fs.FileMode, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestJournalSurvivesAPowerCut(t *testing.T) {
	s, root := testState(t)
	put(t, root+DefaultStateDir+"/runs/r1/journal.jsonl", `{"step":"a","begun":true}`+"\n"+`{"step":"b","be`, 0o600, 0)
	log, err := s.journal("r1")
	if err != nil {
		t.Fatal(err)
	}
	result := engine.Result{Step: "c", Name: "hunter2", Status: engine.StatusFailed, Reason: "hunter2", Output: engine.Output{"x": "hunter2"},
		Change: &engine.Change{Needed: true}, Failure: &engine.Failure{Message: "hunter2", Detail: "hunter2"}}
	if err := log.end(result, true); err != nil {
		t.Fatal(err)
	}
	entries, err := s.read("r1")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%s, %v", entries, err)
	}
	var last engine.JournalEntry
	if err := json.Unmarshal(entries[1], &last); err != nil || last.Step != "c" || last.Status != engine.StatusFailed {
		t.Errorf("%s, %v", entries[1], err)
	}
	if strings.Contains(string(entries[1]), "hunter2") {
		t.Errorf("the journal tells more than what became of the step: %s", entries[1])
	}
	if got := newest(entries, len(entries[1])+1); len(got) != 1 {
		t.Errorf("%d entries", len(got))
	}
	s.close()
}

func TestOldRunsAreRemoved(t *testing.T) {
	s, root := testState(t)
	runs := root + DefaultStateDir + "/runs/"
	made := func(name string, kept bool, age time.Duration) {
		put(t, runs+name+"/journal.jsonl", "", 0o600, 0)
		if kept {
			put(t, runs+name+"/kept.jsonl", "", 0o600, 0)
			put(t, runs+name+"/kept/000000", "0123456789", 0o600, 0)
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
	if _, err := s.journal("new"); err != nil {
		t.Fatal(err)
	}
	s.close()
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
		"nothing":                         {},
		"the newest always stays":         {runs: []storedRun{run("a", 1, 3*keptBytes)}},
		"the oldest go":                   {runs: []storedRun{run("c", 3, 1), run("a", 1, keptBytes/2), run("b", 2, keptBytes/2)}, want: []string{"c"}},
		"what is behind a large one goes": {runs: []storedRun{run("a", 1, 1), run("b", 2, keptBytes), run("c", 3, 1)}, want: []string{"b", "c"}},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, runsToRemove(tt.runs)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFullDiskStopsBeforeTheChange(t *testing.T) {
	// /dev/full is a disk without space.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{file: full}
	if err := j.begin("a", false); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}

func TestLockEndsWithItsContextAndTheConnection(t *testing.T) {
	s, root := testState(t)
	unlock, err := s.lock(t.Context(), nil, func(string) { t.Error("had to wait") })
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.lock(t.Context(), nil, nil) // of the same agent
	if err != nil {
		t.Fatal(err)
	}
	other := openState(ServeOptions{Root: root, StateDir: DefaultStateDir})
	cause := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	if _, err := other.lock(ctx, nil, func(string) { stop(cause) }); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	gone := make(chan struct{})
	if _, err := other.lock(t.Context(), gone, func(string) { close(gone) }); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("got %v", err)
	}
	unlock()
	reported := false
	time.AfterFunc(50*time.Millisecond, again)
	unlock, err = other.lock(t.Context(), nil, func(string) { reported = true })
	if err != nil || !reported {
		t.Fatalf("%v, reported %v", err, reported)
	}
	unlock()
}

func TestOldProgramsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	name := func(c string) string { return strings.Repeat(c, 64) }
	put(t, dir+"/"+name("a"), "own, and oldest", 0o700, 9*time.Hour)
	put(t, dir+"/"+name("b"), "", 0o700, 3*time.Hour)
	put(t, dir+"/"+name("c"), "", 0o700, time.Hour)
	put(t, dir+"/"+name("d"), "", 0o700, 2*time.Hour)
	put(t, dir+"/.new12", "", 0o700, 2*time.Hour)
	put(t, dir+"/.new13", "", 0o700, time.Minute)
	put(t, dir+"/other", "", 0o700, 9*time.Hour)
	if err := removeOldBinaries(dir, "deployer-agent"); err != nil {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 7 {
		t.Fatalf("a program tried out by hand removed something: %v", all)
	}
	if err := removeOldBinaries(dir, name("a")); err != nil {
		t.Fatal(err)
	}
	var left []string
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{".new13", name("a"), name("c"), "other"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestOutputIsKeptAtBothEnds(t *testing.T) {
	m := headTail{limit: 10}
	for _, p := range []string{"abc", "defghij", "klmnopqrstuvw", "xyz"} {
		if n, err := m.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := m.String(); got != "abcde\n[... 16 bytes left out ...]\nvwxyz" {
		t.Errorf("got %q", got)
	}
	if got := cut("äöü", 3); got != "[... 4 bytes left out ...]\nü" {
		t.Errorf("got %q", got)
	}
	if got := cutEnd("äöü", 3); got != "ä\n[... 4 bytes left out ...]\n" {
		t.Errorf("got %q", got)
	}
}

func TestCommandIsKilledWithItsChildren(t *testing.T) {
	cause := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { stop(cause) })
	began := time.Now()
	_, err := runCommand(ctx, engine.Command{Argv: []string{"/bin/sh", "-c", "sleep 60 & sleep 60"}})
	if !errors.Is(err, cause) || time.Since(began) > 20*time.Second {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	if _, err := runCommand(t.Context(), engine.Command{Argv: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("got %v", err)
	}
	r, err := runCommand(t.Context(), engine.Command{Argv: []string{"/bin/sh", "-c", "cat; pwd; echo $LC_ALL $X"}, Stdin: []byte("in\n"), Dir: "/", Env: []string{"X=y"}})
	if err != nil || r.Stdout != "in\n/\nC y\n" {
		t.Errorf("got %+v, %v", r, err)
	}
}
