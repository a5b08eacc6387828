package conformance

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
)

// Task is the action `conformance`. It fails when the tests cannot be run to their end; tests that fail
// are rows of the output.
type Task struct {
	Image    string        `yaml:"image" rule:"image" required:"true" doc:"Image with the tests; the host must have it, or pull it."`
	Probe    string        `yaml:"probe" rule:"image" required:"true" doc:"Image of the probe; it is not pulled and must be on the host."`
	Focus    string        `yaml:"focus" rule:"regexp" doc:"Regular expression of the tests that run; default \\[Conformance\\]."`
	Skip     string        `yaml:"skip" rule:"regexp" doc:"Regular expression of tests that do not run; default none."`
	Parallel int           `yaml:"parallel" range:"1..100" doc:"Number of tests that run at the same time; default 1."`
	Timeout  time.Duration `yaml:"timeout" range:"1m.." doc:"Maximum time of all tests together; default 24h."`
	Dir      string        `yaml:"dir" rule:"path" required:"true" doc:"Directory of the controller for junit_01.xml and e2e.log."`
	JUnit    string        `yaml:"junit" rule:"path" doc:"File of the controller for a JUnit report with the tests that ran; default none."`
	Missing  string        `yaml:"missing" rule:"text" doc:"Text about images of pods of tests that were not delivered, which becomes a row; default none."`
}

// NewTask returns the action with its defaults.
func NewTask() *Task { return &Task{Focus: DefaultFocus, Parallel: 1, Timeout: 24 * time.Hour} }

// Check returns that the tests will run.
func (t *Task) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	return engine.Change{Needed: true, Effects: []engine.Effect{{
		Action: "run", Target: "conformance tests in namespace " + Namespace,
		Reason: fmt.Sprintf("a pod on %s with the rights of cluster-admin; tests create and remove objects in the whole cluster", actx.Host()),
	}}}, nil
}

// Apply runs the tests.
func (t *Task) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	rows, err := Run(ctx, Options{
		Client: client.WithRetryTimeout(5 * time.Second), Image: t.Image, Probe: t.Probe, Node: actx.Host(),
		Focus: t.Focus, Skip: t.Skip, Parallel: t.Parallel, Timeout: t.Timeout, Dir: t.Dir, JUnit: t.JUnit,
		Reconnect: actx.Reconnect, Progress: actx.Progress, Warn: actx.Warn,
	})
	if err != nil {
		return nil, err
	}
	if t.Missing != "" {
		rows = append(rows, report.Skip("images of tests", "", "%s", t.Missing))
	}
	return report.Output(rows), nil
}
