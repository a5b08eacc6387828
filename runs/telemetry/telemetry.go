package telemetry

import (
	"context"
	"fmt"
	"time"

	"deployer/engine"
)

// The variables of the environment that switch reports on. Traces are switched on by the
// variables of the OpenTelemetry specification.
const (
	fileVariable = "DEPLOYER_METRICS_FILE"
	pushVariable = "DEPLOYER_METRICS_PUSH"
)

// finishTimeout is the maximum time that a run waits at its end for all reports together.
const finishTimeout = 10 * time.Second

// Reporter is a sink for the events of one run, which reports what it has seen.
type Reporter struct {
	metrics    *metrics // nil when off
	file, push string
	traces     *traces // nil when off
}

// FromEnvironment returns the reporter of a run; nil when the environment switches nothing
// on:
//
//	DEPLOYER_METRICS_FILE        file of metrics in the text format of Prometheus
//	DEPLOYER_METRICS_PUSH        URL of a Pushgateway
//	OTEL_EXPORTER_OTLP_ENDPOINT  URL of a collector that takes OTLP over HTTP; also
//	                             OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and the other OTEL_ variables
//	TRACEPARENT                  span of the caller, such as a CI job, as W3C Trace Context
//
// getenv returns the value of a variable, version that of the program.
func FromEnvironment(ctx context.Context, getenv func(string) string, version string) (*Reporter, error) {
	r := &Reporter{file: getenv(fileVariable), push: getenv(pushVariable)}
	if r.file != "" || r.push != "" {
		r.metrics = newMetrics(version)
	}
	if tracesWanted(getenv) {
		var err error
		if r.traces, err = newTraces(ctx, getenv, version); err != nil {
			return nil, fmt.Errorf("sending traces: %w", err)
		}
	}
	if r.metrics == nil && r.traces == nil {
		return nil, nil
	}
	return r, nil
}

// Emit implements engine.Sink.
func (r *Reporter) Emit(e engine.Event) {
	if r.metrics != nil {
		r.metrics.add(e)
	}
	if r.traces != nil {
		r.traces.add(e)
	}
}

// Finish sends the reports and returns the errors of those that failed. Finish takes 10 s at
// most. No event may come later.
func (r *Reporter) Finish(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	var out []error
	failed := func(what string, err error) {
		if err != nil {
			out = append(out, fmt.Errorf("%s: %w", what, err))
		}
	}
	if r.metrics != nil && r.metrics.complete() {
		if r.file != "" {
			failed("writing the metrics of the run to "+r.file, r.metrics.writeFile(r.file))
		}
		if r.push != "" {
			failed("pushing the metrics of the run", r.metrics.pushTo(ctx, r.push))
		}
	}
	if r.traces != nil {
		failed("sending the traces of the run", r.traces.finish(ctx))
	}
	return out
}
