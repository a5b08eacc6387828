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

func TestKeepSavesWhatWasThere(t *testing.T) {
	s, root := testState(t)
	put(t, root+"/etc/a", "old", 0o640, 0)
	if err := os.Symlink("a", root+"/etc/link"); err != nil {
		t.Fatal(err)
	}
	step := "play.role.task#1/../x"
	for _, path := range []string{"/etc/a", "/etc", "/etc/link", "/etc/none"} {
		if err := s.keep("r1", step, path); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root+"/etc/a", "half done", 0o600, 0)
	if err := s.keep("r1", step, "/etc/a"); err != nil { // a second try
		t.Fatal(err)
	}
	dir := filepath.Join(root, DefaultStateDir, "runs", "r1", "kept", escape(step))
	got := map[string]string{}
	for _, path := range []string{"/etc/a", "/etc", "/etc/link", "/etc/none"} {
		raw, err := os.ReadFile(filepath.Join(dir, escape(path)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var k Kept
		if err := json.Unmarshal(raw, &k); err != nil || k.Path != path {
			t.Fatalf("%s: %v", raw, err)
		}
		got[path] = fmt.Sprint(k.Exists, " ", k.Mode, " ", k.Link)
	}
	want := map[string]string{"/etc/a": "true -rw-r----- ", "/etc": "true drwxr-xr-x ", "/etc/link": "true Lrwxrwxrwx a", "/etc/none": "false ---------- "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if data, err := os.ReadFile(filepath.Join(dir, escape("/etc/a")+".data")); string(data) != "old" {
		t.Errorf("kept %q, %v", data, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("others may look into %s", dir)
	}
}

func TestEscapedNamesFitAndDiffer(t *testing.T) {
	long := strings.Repeat("/very/long", 60)
	names := []string{escape(".."), escape("."), escape("a/b"), escape("a b"), escape(long + "1"), escape(long + "2")}
	for i, n := range names {
		if n != filepath.Base(n) || n == ".." || n == "." || len(n)+len(".json.new") > 255 || slices.Contains(names[:i], n) {
			t.Errorf("%q", n)
		}
	}
}

func TestJournalSurvivesAPowerCut(t *testing.T) {
	s, root := testState(t)
	put(t, root+DefaultStateDir+"/runs/r1/journal.jsonl", `{"step":"a","begun":true}`+"\n"+`{"step":"b","be`, 0o600, 0)
	log, err := s.journal("r1")
	if err != nil {
		t.Fatal(err)
	}
	told := engine.Result{Step: "c", Name: "hunter2", Status: engine.Failed, Reason: "hunter2", Output: engine.Output{"x": "hunter2"},
		Change: &engine.Change{Needed: true}, Failure: &engine.Failure{Message: "hunter2", Detail: "hunter2"}}
	if err := log.end(told, true); err != nil {
		t.Fatal(err)
	}
	entries, err := s.read("r1")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%s, %v", entries, err)
	}
	var last JournalEntry
	if err := json.Unmarshal(entries[1], &last); err != nil || last.Step != "c" || last.Status != engine.Failed {
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
	for i := range keptRuns + 5 {
		put(t, fmt.Sprintf("%sr%02d/journal.jsonl", runs, i), "", 0o600, 0)
		when := time.Now().Add(-time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(fmt.Sprintf("%sr%02d", runs, i), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.journal("new"); err != nil {
		t.Fatal(err)
	}
	s.close()
	left, _ := filepath.Glob(runs + "*")
	if len(left) != keptRuns || !slices.Contains(left, runs+"new") || !slices.Contains(left, runs+"r08") || slices.Contains(left, runs+"r09") {
		t.Errorf("left: %v", left)
	}
}

func TestFullDiskStopsBeforeTheChange(t *testing.T) {
	// /dev/full is a disk without space.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{file: full}
	if err := j.begin("a"); err == nil || !strings.Contains(err.Error(), "no space left") {
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
	told := false
	time.AfterFunc(50*time.Millisecond, again)
	unlock, err = other.lock(t.Context(), nil, func(string) { told = true })
	if err != nil || !told {
		t.Fatalf("%v, told %v", err, told)
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
	if err := removeOldPrograms(dir, "deployer-agent"); err != nil {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 7 {
		t.Fatalf("a program tried out by hand removed something: %v", all)
	}
	if err := removeOldPrograms(dir, name("a")); err != nil {
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
	m := middle{limit: 10}
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
