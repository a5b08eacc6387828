package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"deployer/ci/config"
	"deployer/ci/report"
	"deployer/strictyaml"
)

// stageRun is a stage with its record and the end of its execution.
type stageRun struct {
	strictyaml.Entry[config.Stage]
	record *report.Stage
	done   chan struct{} // closed at the end
	passed bool          // valid when done is closed
}

// stages runs all stages along their graph and returns when all have ended. A stage starts
// when the stages that it needs have passed, in a goroutine of its own; when one of them
// has not passed, it is skipped. Other stages go on.
func (r *run) stages(ctx context.Context) {
	all, byName := []*stageRun{}, map[string]*stageRun{}
	for _, e := range r.config.Ordered() {
		s := &stageRun{Entry: e, record: &report.Stage{Name: e.Key}, done: make(chan struct{})}
		all, byName[e.Key] = append(all, s), s
		r.record.Stages = append(r.record.Stages, s.record)
	}
	width := prefixWidth(r.config)
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			defer close(s.done)
			missing := ""
			for _, name := range s.Value.Needs {
				before := byName[name]
				<-before.done
				if !before.passed && missing == "" {
					missing = name
				}
			}
			s.record.Started = r.Now()
			if missing != "" {
				s.record.Outcome, s.record.Message = report.Skipped, missing+" did not pass"
				return
			}
			prefix := ""
			if r.config.Parallel(s.Key) {
				prefix = fmt.Sprintf("%-*s | ", width, s.Key)
			}
			s.passed = r.runStage(ctx, s, r.newJob(s.Key, prefix, r.inputs(s.Value)))
		})
	}
	wg.Wait()
}

// prefixWidth returns the length of the longest name of the stages whose output has a prefix.
func prefixWidth(c *config.Config) int {
	width := 0
	for _, e := range c.Stages {
		if c.Parallel(e.Key) {
			width = max(width, len(e.Key))
		}
	}
	return width
}

// runStage runs one stage, records its outcome, and reports whether stages that need it may
// start.
func (r *run) runStage(ctx context.Context, s *stageRun, j job) bool {
	defer j.out.Flush()
	if s.Value.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Value.Timeout)
		defer cancel()
	}
	span := r.Spans.Start(r.span, "stage "+s.Key, "stage", s.Key)
	defer func() { span.End(string(s.record.Outcome), failureOf(s.record.Outcome, s.record.Message)) }()
	j.env = append(j.env, span.Environment()...)
	j.printf("== %s\n", s.Key)
	s.record.Log = j.log
	err := r.stage(ctx, s.Entry, s.record, j)
	s.record.Seconds = r.Now().Sub(s.record.Started).Seconds()
	switch {
	case errors.Is(err, errInterrupted) || errors.Is(ctx.Err(), context.Canceled):
		s.record.Outcome, s.record.Message = report.Interrupted, errInterrupted.Error()
	case err != nil:
		s.record.Outcome, s.record.Message = outcomeOf(err), r.Mask(err.Error())
		j.printf("%s: %s\n", s.Key, s.record.Message)
	case s.record.Outcome == "":
		s.record.Outcome = report.Passed
	}
	return err == nil || s.Value.AllowFail && s.record.Outcome != report.Interrupted
}

// failureOf returns a message when the outcome is a failure; empty otherwise.
func failureOf(outcome report.Outcome, message string) string {
	if slices.Contains(severity, outcome) {
		return message
	}
	return ""
}

// inputs returns the environment variables of a stage.
func (r *run) inputs(s config.Stage) []string {
	r.outputsMu.Lock()
	defer r.outputsMu.Unlock()
	var out []string
	for name, value := range s.Inputs {
		if stage, output, is := r.config.Reference(value); is {
			value = r.outputs[stage][output]
		}
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// setOutputs keeps the outputs of a stage for the stages that need it. The record gets the
// outputs that have no secret.
func (r *run) setOutputs(s *report.Stage, values map[string]string) {
	r.outputsMu.Lock()
	defer r.outputsMu.Unlock()
	r.outputs[s.Name] = values
	s.Outputs = map[string]string{}
	for name, value := range values {
		if r.Mask(value) == value {
			s.Outputs[name] = value
		}
	}
}

// severity orders the outcomes of stages: the outcome of a run is that of the stage with
// the highest severity. Other outcomes have none.
var severity = []report.Outcome{report.Refused, report.RolledBack, report.Failed, report.Interrupted}

// worst returns the outcome with the highest severity of the stages that count; empty when
// none has one.
func (r *run) worst() report.Outcome {
	worst := -1
	for _, s := range r.record.Stages {
		if stage, _ := r.config.Stages.Get(s.Name); stage.AllowFail && s.Outcome != report.Interrupted {
			continue
		}
		worst = max(worst, slices.Index(severity, s.Outcome))
	}
	if worst < 0 {
		return ""
	}
	return severity[worst]
}

func trimNewline(s string) string { return strings.TrimRight(s, "\r\n") }
