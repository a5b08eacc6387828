package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Spans makes spans of work that starts other programs, such as the stages of deployer ci.
// A nil Spans makes none.
type Spans struct {
	provider *sdk.TracerProvider
	caller   context.Context //nolint:containedctx // of the environment, which every root span has as its parent
	failed   exportError
}

// SpansFromEnvironment returns nil when the environment names no collector; see
// FromEnvironment.
func SpansFromEnvironment(ctx context.Context, getenv func(string) string, version string) (*Spans, error) {
	if !tracesWanted(getenv) {
		return nil, nil
	}
	s := &Spans{caller: ofCaller(ctx, getenv)}
	var err error
	if s.provider, err = newProvider(ctx, getenv, version, s.failed.keep); err != nil {
		return nil, fmt.Errorf("sending traces: %w", err)
	}
	return s, nil
}

// Span is a piece of work. A nil Span is none.
type Span struct {
	span trace.Span
	of   *Spans
}

// Start begins a span below another one, or below the span of the caller when parent is nil.
// attributes are names and values in turn.
func (s *Spans) Start(parent *Span, name string, attributes ...string) *Span {
	if s == nil {
		return nil
	}
	ctx := s.caller
	if parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent.span)
	}
	var given []attribute.KeyValue
	for i := 0; i+1 < len(attributes); i += 2 {
		given = append(given, attribute.String("deployer."+attributes[i], attributes[i+1]))
	}
	_, span := s.provider.Tracer("deployer").Start(ctx, name, trace.WithAttributes(given...))
	return &Span{span, s}
}

// End ends the span. failure is the reason why the work failed, empty when it did not.
func (s *Span) End(outcome, failure string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("deployer.outcome", outcome))
	if failure != "" {
		s.span.SetStatus(codes.Error, failure)
	}
	s.span.End()
}

// Environment returns the variables by which programs that are started put their spans below
// this one.
func (s *Span) Environment() []string {
	if s == nil {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(s.of.caller, s.span), carrier)
	out := []string{"TRACEPARENT=" + carrier["traceparent"]}
	if state := carrier["tracestate"]; state != "" {
		out = append(out, "TRACESTATE="+state)
	}
	return out
}

// Finish sends what is left and returns the first error of the exporter. Finish takes 10 s at most.
func (s *Spans) Finish(ctx context.Context) error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err := s.provider.Shutdown(ctx)
	if first := s.failed.first(); first != nil {
		err = first
	}
	if err != nil {
		return fmt.Errorf("sending the traces: %w", err)
	}
	return nil
}
