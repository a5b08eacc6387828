package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"deployer/engine"
)

// traces makes spans of events: one for the run, below it one for each host, below these
// one for each step that was executed.
type traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer

	mu     sync.Mutex
	ctx    context.Context // has the span of the run, or of the caller before its begin
	run    trace.Span      // nil before the begin of the run
	hosts  map[string]hostSpan
	last   time.Time
	failed exportError
}

type hostSpan struct {
	trace.Span
	ctx context.Context
}

func newTraces(ctx context.Context, getenv func(string) string, version string) (*traces, error) {
	t := &traces{hosts: map[string]hostSpan{}}
	var err error
	if t.provider, err = newProvider(ctx, getenv, version, t.failed.keep); err != nil {
		return nil, err
	}
	t.tracer, t.ctx = t.provider.Tracer("deployer"), ofCaller(ctx, getenv)
	return t, nil
}

func (t *traces) add(e engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Time.After(t.last) {
		t.last = e.Time
	}
	switch {
	case e.Type == engine.EventRunStart && t.run == nil:
		t.ctx, t.run = t.tracer.Start(t.ctx, "run "+e.Name, trace.WithTimestamp(e.Time), trace.WithAttributes(
			attribute.String("deployer.run.id", e.Text), attribute.String("deployer.playbook", e.Name)))
	case e.Type == engine.EventRunEnd && t.run != nil && e.Report != nil:
		t.endRun(e)
	case t.run == nil || e.Host == "":
	case e.Type == engine.EventStepEnd && e.Result != nil:
		t.step(e)
	case e.Type == engine.EventHostUp:
		t.host(e)
	case e.Type == engine.EventHostRetry:
		t.host(e).AddEvent("connection failed", trace.WithTimestamp(e.Time), trace.WithAttributes(attribute.String("reason", e.Text)))
	case e.Type == engine.EventHostParked:
		t.host(e).SetStatus(codes.Error, e.Text)
	}
}

// host returns the span of a host, which begins with its first event. The caller holds the
// lock.
func (t *traces) host(e engine.Event) hostSpan {
	h, ok := t.hosts[e.Host]
	if !ok {
		h.ctx, h.Span = t.tracer.Start(t.ctx, "host "+e.Host, trace.WithTimestamp(e.Time), trace.WithAttributes(attribute.String("deployer.host", e.Host)))
		t.hosts[e.Host] = h
	}
	return h
}

// step adds a span for a step that was executed. Its end is that of the controller's clock,
// and its duration is what the host has measured.
func (t *traces) step(e engine.Event) {
	r := e.Result
	if r.Status == engine.StatusSkipped {
		return
	}
	h := t.host(e)
	_, span := t.tracer.Start(h.ctx, e.Name, trace.WithTimestamp(e.Time.Add(-r.Elapsed)), trace.WithAttributes(
		attribute.String("deployer.host", e.Host), attribute.String("deployer.step", e.Step), attribute.String("deployer.role", e.Role),
		attribute.String("deployer.status", string(r.Status)), attribute.Int("deployer.tries", r.Tries)))
	if r.Failure != nil {
		span.SetStatus(codes.Error, r.Failure.Message)
	}
	span.End(trace.WithTimestamp(e.Time))
}

// endRun ends the spans of all hosts and of the run.
func (t *traces) endRun(e engine.Event) {
	for _, h := range e.Report.Hosts {
		span, ok := t.hosts[h.Host]
		if !ok {
			continue
		}
		span.SetAttributes(attribute.Int("deployer.changed", h.Changed), attribute.Int("deployer.failed", h.Failed))
		if h.Failure != nil {
			span.SetStatus(codes.Error, h.Failure.Message)
		}
	}
	outcome := e.Report.Outcome()
	t.run.SetAttributes(attribute.String("deployer.outcome", string(outcome)), attribute.Int("deployer.hosts", len(e.Report.Hosts)))
	if outcome != engine.OutcomeDone {
		t.run.SetStatus(codes.Error, string(outcome))
	}
	t.endSpans()
}

// endSpans ends what is open. The caller holds the lock.
func (t *traces) endSpans() {
	for _, h := range t.hosts {
		h.End(trace.WithTimestamp(t.last))
	}
	clear(t.hosts)
	if t.run != nil {
		t.run.End(trace.WithTimestamp(t.last))
	}
	t.run = nil
}

// finish ends the spans of a run without an end, sends what is left, and returns the first
// error of the exporter.
func (t *traces) finish(ctx context.Context) error {
	t.mu.Lock()
	t.endSpans()
	t.mu.Unlock()
	err := t.provider.Shutdown(ctx)
	if first := t.failed.first(); first != nil {
		return first
	}
	return err
}
