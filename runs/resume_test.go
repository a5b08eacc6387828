package runs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
)

// TestLastUnfinished checks which run resume selects when none is named.
func TestLastUnfinished(t *testing.T) {
	call := func(book string) journal.Invocation {
		return journal.Invocation{Verb: "run", Playbook: book, Inventory: "/i"}
	}
	limited := func(book, limit string) journal.Invocation {
		c := call(book)
		c.Limit = limit
		return c
	}
	tagged := func(book string) journal.Invocation {
		c := call(book)
		c.Tags = []string{"config"}
		return c
	}
	later := call("/a")
	later.StartAt = "second"
	exec, other := journal.Invocation{Verb: "exec", Inventory: "/i"}, journal.Invocation{Verb: "run", Playbook: "/a", Inventory: "/other"}
	for name, c := range map[string]struct {
		calls    []journal.Invocation // newest first
		outcomes []engine.Outcome
		want     int
	}{
		"the newest of two interrupted runs": {[]journal.Invocation{call("/a"), call("/a")}, []engine.Outcome{journal.Killed, journal.Killed}, 0},
		"completed by a later run":           {[]journal.Invocation{call("/a"), call("/a")}, []engine.Outcome{engine.OutcomeDone, journal.Killed}, -1},
		"later run of another playbook":      {[]journal.Invocation{call("/b"), call("/a")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, 1},
		"later run of exec":                  {[]journal.Invocation{exec, call("/a")}, []engine.Outcome{engine.OutcomeAborted, engine.OutcomeInterrupted}, 1},
		"later run on one of the hosts":      {[]journal.Invocation{limited("/a", "h1"), call("/a")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, 1},
		"later run on the same hosts":        {[]journal.Invocation{limited("/a", "h1"), limited("/a", "h1")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, -1},
		"later run on all hosts":             {[]journal.Invocation{call("/a"), limited("/a", "h1")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, -1},
		"later run with tags":                {[]journal.Invocation{tagged("/a"), call("/a")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, 1},
		"later run with --start-at":          {[]journal.Invocation{later, call("/a")}, []engine.Outcome{engine.OutcomeDone, engine.OutcomePartial}, 1},
		"run of another inventory":           {[]journal.Invocation{other}, []engine.Outcome{journal.Killed}, -1},
		"run that is not finished":           {[]journal.Invocation{call("/a")}, []engine.Outcome{journal.Running}, 0},
	} {
		var all []*journal.Record
		for i := range c.calls {
			all = append(all, &journal.Record{Header: journal.Header{Invocation: c.calls[i]}, Outcome: c.outcomes[i]})
		}
		var want *journal.Record
		if c.want >= 0 {
			want = all[c.want]
		}
		if got := lastUnfinished(all, "/i"); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestCompletedResumeCompletesRun checks that a run counts as completed when the run
// that resumed it has completed.
func TestCompletedResumeCompletesRun(t *testing.T) {
	record := func(run, resumes, limit string, outcome engine.Outcome) *journal.Record {
		return &journal.Record{Outcome: outcome, Header: journal.Header{Run: run, Resumes: resumes,
			Invocation: journal.Invocation{Verb: "run", Playbook: "/a", Inventory: "/i", Limit: limit}}}
	}
	first, second := record("1", "", "", engine.OutcomePartial), record("2", "1", "h1,h2", engine.OutcomePartial)
	if got := lastUnfinished([]*journal.Record{second, first}, "/i"); got != second {
		t.Errorf("got %+v", got)
	}
	if got := lastUnfinished([]*journal.Record{record("3", "2", "h2", engine.OutcomeDone), second, first}, "/i"); got != nil {
		t.Errorf("got %+v", got)
	}
}

func TestChangedSince(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	at := func(name string) string { return filepath.Join(here, name) }
	h := journal.Header{Deployer: "v0", Files: map[string]string{at("a"): "1", at("b"): "2", "/c": "3"}}
	want := []string{"/c (no longer used)", "b", "d (new)", "deployer itself (v0, now v1)"}
	if diff := cmp.Diff(want, Runner{Version: "v1"}.changedSince(h, map[string]string{at("a"): "1", at("b"): "x", at("d"): "4"})); diff != "" {
		t.Error(diff)
	}
}

// writeSite writes an inventory without a cluster and a playbook to a new working
// directory.
func writeSite(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, content := range map[string]string{
		"i.yaml":    "hosts: {web: , db: }\nvars: {key: !secret hunter2}\n",
		"site.yaml": "- {hosts: all, tasks: [{debug: {msg: x}, tags: [a, b]}, {name: last, debug: {msg: y}, tags: a}, {debug: {msg: z}, tags: c}]}\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordedInvocation checks that a recorded invocation repeats the run from another
// directory and contains no secrets.
func TestRecordedInvocation(t *testing.T) {
	writeSite(t)
	c := Runner{}
	given := journal.Invocation{Inventory: "i.yaml", Playbook: "site.yaml", Limit: "web", Tags: []string{"a"}, SkipTags: []string{"c"}, StartAt: "last", Forks: 7, LockHosts: true,
		Extra: map[string]any{"release": "7", "password": "swordfish", "greeting": "it is hunter2"}}
	r, err := c.Playbook(Options{Invocation: given})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.connector.Close()
	data, err := json.Marshal(r.RecordedInvocation())
	if err != nil || strings.Contains(string(data), "swordfish") || strings.Contains(string(data), "hunter2") {
		t.Errorf("written: %s, %v", data, err)
	}
	var was journal.Invocation
	if err := json.Unmarshal(data, &was); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"greeting", "password"}, missingExtra(was.Withheld, was.Extra)); diff != "" {
		t.Error(diff)
	}
	again, err := c.rerun(was, Options{Invocation: journal.Invocation{Extra: map[string]any{"password": "swordfish", "greeting": "it is hunter2"}}})
	if err != nil {
		t.Fatal(err)
	}
	given.Verb, given.Withheld = journal.VerbRun, was.Withheld
	if diff := cmp.Diff(given, again.Invocation); diff != "" {
		t.Error(diff)
	}
}

// TestUserErrorsAndRefusals checks that wrong input is a UserError and that a changed
// file is a RefusedError.
func TestUserErrorsAndRefusals(t *testing.T) {
	writeSite(t)
	c := Runner{Version: "v1"}
	call := func(limit, book string) error {
		_, err := c.Playbook(Options{Invocation: journal.Invocation{Inventory: "i.yaml", Playbook: book, Limit: limit}})
		return err
	}
	was := &journal.Record{Outcome: journal.Killed, Header: journal.Header{Run: "r1", Deployer: "v0",
		Invocation: journal.Invocation{Verb: journal.VerbRun, Inventory: "i.yaml", Playbook: "site.yaml", Withheld: []string{"token"}}}}
	_, withheld := c.Resume(&history.Entry{Record: was, Here: true}, Options{}, false)
	for want, err := range map[string]error{
		"pattern \"nowhere\"":                call("nowhere", "site.yaml"),
		`pattern "web,!web" matches no host`: call("web,!web", "site.yaml"),
		"reading the playbook":               call("", "none.yaml"),
		"deployer resume r1 -e token=...":    withheld,
		"every run of i.yaml has completed": func() error {
			_, err := c.Unfinished("", Options{Invocation: journal.Invocation{Inventory: "i.yaml"}})
			return err
		}(),
		"no plan.json: no such file or director": func() error { _, _, err := ReadPlan("no plan.json"); return err }(),
	} {
		var userError *project.UserError
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), want) {
			t.Errorf("want a user error %q, got %v", want, err)
		}
	}
	_, err := c.Resume(&history.Entry{Record: was, Here: true}, Options{Invocation: journal.Invocation{Extra: map[string]any{"token": "x"}}}, false)
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "changed since run r1: i.yaml (new), site.yaml (new), deployer itself") {
		t.Errorf("got %v", err)
	}
	r, err := c.Resume(&history.Entry{Record: was, Here: true}, Options{Invocation: journal.Invocation{Extra: map[string]any{"token": "x"}}}, true)
	if err != nil || r.resumes != "r1" {
		t.Errorf("got %v", err)
	}
}
