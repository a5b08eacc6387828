package runs_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs"
	"deployer/runs/target"
	"deployer/test/fleet"
)

// service runs playbooks on a fleet like a program without a terminal.
type service struct {
	runs.Runner
	t     *testing.T
	fleet *fleet.Fleet
}

// agents has no binaries: the hosts of a fleet have their agents.
type agents struct{}

func (agents) AgentBinary(string) ([]byte, error) { return nil, errors.New("the hosts have it") }
func (agents) AgentGzip(string) ([]byte, error)   { return nil, errors.New("the hosts have it") }
func (agents) AgentDigest(string) (string, error) { return "digest", nil }

func newService(t *testing.T) *service {
	t.Helper()
	f, err := fleet.Start(2, fleet.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	t.Chdir(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := &service{t: t, fleet: f, Runner: runs.Runner{Options: project.Options{Agents: agents{}}, Version: "v1"}}
	inventory, err := yaml.Marshal(f.Document(fleet.Site{Vars: map[string]any{"greeting": "hello"}}))
	if err != nil {
		t.Fatal(err)
	}
	s.write("inventory.yaml", inventory)
	s.write("site.yaml", []byte("- hosts: all\n  tasks:\n    - {file: {path: /greeting, content: '{{ greeting }}'}}\n    - {command: {argv: [sh, -c, 'test -z {{ bad }}']}, changed_when: false}\n"))
	return s
}

func (s *service) write(name string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// optionsWith returns the options of a run of the playbook with a value of bad.
func optionsWith(bad string) runs.Options {
	return runs.Options{Invocation: journal.Invocation{Inventory: "inventory.yaml", Playbook: "site.yaml", Extra: map[string]any{"bad": bad}}}
}

// do executes a run without an observer and checks its outcome.
func (s *service) do(want engine.Outcome) func(*runs.Run, error) *runs.Run {
	return func(r *runs.Run, err error) *runs.Run {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
		report, err := r.Do(s.t.Context(), runs.Observer{})
		if err != nil || report.Outcome() != want {
			s.t.Fatalf("got %+v, %v; want %s", report, err, want)
		}
		return r
	}
}

// hostFile returns the file of the playbook on the first host.
func (s *service) hostFile() string {
	data, err := os.ReadFile(filepath.Join(s.fleet.Hosts[0].Root, "greeting"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestPlanAndApply makes a plan, reads it again, applies it, and is refused a second time.
func TestPlanAndApply(t *testing.T) {
	s := newService(t)
	o := optionsWith("''")
	o.Check = true
	r, err := s.Playbook(o)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := r.Plan(t.Context(), runs.Observer{})
	if err != nil || planned.Plan == nil || len(planned.Plan.Hosts) != 2 || r.HasLog() || strings.HasPrefix(s.hostFile(), "hello") {
		t.Fatalf("got %+v, %v", planned, err)
	}
	data, err := json.Marshal(planned.Plan)
	if err != nil {
		t.Fatal(err)
	}
	s.write("plan.json", data)
	p, from, err := runs.ReadPlan("plan.json")
	if err != nil {
		t.Fatal(err)
	}
	applied := s.do(engine.OutcomeDone)(s.Apply(p, from, runs.Options{}))
	if got := s.hostFile(); got != "hello" || !applied.HasLog() {
		t.Errorf("got %q", got)
	}
	again, err := s.Apply(p, from, runs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Do(t.Context(), runs.Observer{})
	var drift *runs.DriftError
	if !errors.As(err, &drift) || len(drift.Drift) != 2 || again.HasLog() {
		t.Errorf("got %v", err)
	}
	s.Version = "v2"
	if _, err = s.Apply(p, from, runs.Options{}); !errors.As(err, &drift) || !strings.Contains(err.Error(), "deployer: is version v2") {
		t.Errorf("got %v", err)
	}
}

// TestResumeAndRevert resumes an interrupted and a failed run, and reverts both.
func TestResumeAndRevert(t *testing.T) {
	s := newService(t)
	stopped, err := s.Playbook(optionsWith("''"))
	if err != nil {
		t.Fatal(err)
	}
	now := make(chan struct{})
	close(now)
	if report, err := stopped.Do(t.Context(), runs.Observer{Interrupt: now}); err != nil || !report.Interrupted {
		t.Fatalf("got %+v, %v", report, err)
	}
	s.do(engine.OutcomeAborted)(s.Playbook(optionsWith("x")))
	record, err := s.Unfinished("", optionsWith(""))
	if err != nil || record.Header.Run == stopped.ID() {
		t.Fatalf("got %+v, %v", record, err)
	}
	resumed := s.do(engine.OutcomeDone)(s.Resume(record, optionsWith("''"), false))
	if _, err := s.Unfinished("", optionsWith("")); err == nil {
		t.Error("a run is unfinished that was resumed")
	}
	if got := s.hostFile(); got != "hello" {
		t.Errorf("got %q", got)
	}
	for _, run := range []string{resumed.ID(), record.Header.Run} {
		back, err := s.Revert(run, runs.RevertOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := back.Preview(t.Context(), runs.Observer{})
		if err != nil || len(found.History) != 2 {
			t.Fatalf("got %+v, %v", found, err)
		}
		if due := run == record.Header.Run; found.HasWork() != due {
			t.Errorf("something is due: %v, want %v", found.HasWork(), due)
		} else if due {
			s.do(engine.OutcomeDone)(back.Run(found))
		}
	}
	if got := s.hostFile(); !strings.Contains(got, "no such file") {
		t.Errorf("it was not restored: %q", got)
	}
}

// TestRevertRefusesDrift checks that a revert is refused when a file was changed after
// the run.
func TestRevertRefusesDrift(t *testing.T) {
	s := newService(t)
	r := s.do(engine.OutcomeDone)(s.Playbook(optionsWith("''")))
	s.write(filepath.Join(s.fleet.Hosts[1].Root, "greeting"), []byte("somebody's"))
	back, err := s.Revert(r.ID(), runs.RevertOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := back.Preview(t.Context(), runs.Observer{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *runs.RefusedError
	if _, err := back.Run(found); !errors.As(err, &refused) || len(found.Drifted()) != 1 {
		t.Errorf("got %v, drifted %+v", err, found.Drifted())
	}
}

// TestPasswordPromptWithoutTerminal checks that a password prompt without a terminal is
// a UserError and that no host is contacted.
func TestPasswordPromptWithoutTerminal(t *testing.T) {
	s := newService(t)
	o := optionsWith("''")
	o.Prompt = target.PromptFlags{Login: true}
	r, err := s.Playbook(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Do(t.Context(), runs.Observer{})
	var userError *project.UserError
	if !errors.As(err, &userError) || !strings.Contains(err.Error(), "the program has no terminal") || s.fleet.Busy() != 0 {
		t.Errorf("got %v", err)
	}
}
