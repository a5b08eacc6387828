package telemetry

import (
	"context"
	"errors"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// queueSize is the number of spans that wait for the exporter at most; further spans are
// dropped. The default of the SDK, 2048, is less than 100 hosts end at a time.
// OTEL_BSP_MAX_QUEUE_SIZE overrides it.
const queueSize = 1 << 16

// tracesWanted reports whether the environment names a collector of traces.
func tracesWanted(getenv func(string) string) bool {
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"), getenv("OTEL_TRACES_EXPORTER") == "none":
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// exportError is the first error of the exporter, which reports it from its goroutine.
type exportError struct {
	mu  sync.Mutex
	err error
}

func (f *exportError) keep(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *exportError) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// newProvider returns a provider that sends spans to the collector of the environment. fail
// gets the errors of the exporter, from its goroutine.
func newProvider(ctx context.Context, getenv func(string) string, version string, fail func(error)) (*sdk.TracerProvider, error) {
	if p := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") + getenv("OTEL_EXPORTER_OTLP_PROTOCOL"); strings.Contains(p, "grpc") {
		return nil, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is grpc; deployer sends http/protobuf, usually to port 4318")
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "deployer"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	var batch []sdk.BatchSpanProcessorOption
	if getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		batch = append(batch, sdk.WithMaxQueueSize(queueSize))
	}
	// The handler of the SDK is global; without one, errors go to the terminal's live view.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(fail))
	return sdk.NewTracerProvider(sdk.WithBatcher(exporter, batch...), sdk.WithResource(of)), nil
}

// ofCaller returns a context with the span of the caller, if the environment has one. It is
// not cancelled, so that spans of an interrupted run end.
func ofCaller(ctx context.Context, getenv func(string) string) context.Context {
	caller := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT"), "tracestate": getenv("TRACESTATE")}
	return propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), caller)
}
