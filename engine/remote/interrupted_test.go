package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/transport/local"
	"deployer/tasks/command"
)

// TestKilledCommand: the agent is killed while it runs a command. The next agent
// follows on_resume, in the same run and in a run that resumes it.
func TestKilledCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		onResume, creates string
		runs              int // of the command, at the end
		status            engine.Status
		text              string
	}{
		"by default":         {runs: 2, status: engine.StatusChanged},
		"run":                {onResume: "run", runs: 2, status: engine.StatusChanged},
		"fail":               {onResume: "fail", runs: 1, status: engine.StatusFailed, text: "run r1 was interrupted in this step"},
		"skip":               {onResume: "skip", runs: 1, status: engine.StatusOK, text: "run r1 was interrupted in this step"},
		"fail, but creates":  {onResume: "fail", creates: "ran", runs: 1, status: engine.StatusOK, text: "exists"},
		"skip, in a new run": {onResume: "skip", runs: 2, status: engine.StatusChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOCOVERDIR", t.TempDir())
			dir := t.TempDir()
			ran := filepath.Join(dir, "ran")
			m := command.Command{Argv: []string{"/bin/sh", "-c", "echo x >>" + ran + "; [ $(wc -l <" + ran + ") != 1 ] || kill -9 $PPID"}, OnResume: tt.onResume}
			if tt.creates != "" {
				m.Creates = filepath.Join(dir, tt.creates)
			}
			do := func(run string, resumes ...string) (result engine.Result, err error) {
				t.Helper()
				s, err := Connect(t.Context(), local.New("here"), Options{Host: "here", Binaries: ownBinaries(), Dir: filepath.Join(dir, "dep")})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				step := agenttest.Step(t, "1.play.1", "command", m)
				err = s.Run(t.Context(), engine.Segment{Run: run, ResumedRuns: resumes, Steps: []engine.Step{step}}, func(r engine.Result) { result = r })
				return result, err
			}
			if r, err := do("r1"); err == nil {
				t.Fatalf("%+v, and the agent lives", r)
			}
			again := [][]string{{"r1"}, {"r2", "r1"}, {"r3", "r2", "r1"}}
			if name == "skip, in a new run" {
				again = [][]string{{"r2"}}
			}
			r, err := do(again[0][0], again[0][1:]...)
			check := func() {
				t.Helper()
				why, _ := r.Output["why"].(string)
				if r.Failure != nil {
					why = r.Failure.Message
				}
				if err != nil || r.Status != tt.status || !strings.Contains(why, tt.text) {
					t.Errorf("%+v, %v; want %s with %q", r, err, tt.status, tt.text)
				}
				if data, err := os.ReadFile(ran); err != nil || len(data) != 2*tt.runs {
					t.Errorf("it ran %d times, %v; want %d", len(data)/2, err, tt.runs)
				}
			}
			check()
			if tt.onResume != "fail" {
				return
			}
			for _, runs := range again[1:] { // the step fails until on_resume permits another attempt
				r, err = do(runs[0], runs[1:]...)
				check()
			}
		})
	}
}
