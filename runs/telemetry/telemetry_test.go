package telemetry

import (
	"compress/gzip"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"deployer/engine"
)

var began = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// events are those of a run on three hosts: one completes, one fails, one is not reached.
func events() []engine.Event {
	after := func(d time.Duration, e engine.Event) engine.Event {
		e.Time = began.Add(d)
		return e
	}
	failure := &engine.Failure{Message: "no such file"}
	return []engine.Event{
		after(0, engine.Event{Type: engine.EventRunStart, Name: "site.yaml", Text: "20261123-100000.000"}),
		after(1*time.Second, engine.Event{Type: engine.EventHostUp, Host: "a"}),
		after(1*time.Second, engine.Event{Type: engine.EventHostUp, Host: "b"}),
		after(1*time.Second, engine.Event{Type: engine.EventHostRetry, Host: "c", Text: "refused"}),
		after(3*time.Second, engine.Event{Type: engine.EventStepEnd, Host: "a", Step: "1", Name: "configuration", Role: "web", Result: &engine.Result{Status: engine.StatusChanged, Elapsed: time.Second, Tries: 1}}),
		after(3*time.Second, engine.Event{Type: engine.EventStepEnd, Host: "a", Step: "2", Name: "skipped", Result: &engine.Result{Status: engine.StatusSkipped}}),
		after(4*time.Second, engine.Event{Type: engine.EventStepEnd, Host: "b", Step: "1", Name: "configuration", Result: &engine.Result{Status: engine.StatusFailed, Failure: failure}}),
		after(4*time.Second, engine.Event{Type: engine.EventTransfer, Host: "a", Bytes: 1000}),
		after(5*time.Second, engine.Event{Type: engine.EventRunEnd, Report: &engine.Report{Elapsed: 5 * time.Second, Hosts: []engine.HostReport{
			{Host: "a", Changed: 1}, {Host: "b", Failed: 1, Failure: failure}, {Host: "c", Unreachable: true, Failure: failure}}}}),
	}
}

// environment returns a getenv, and sets the variables for the SDK, which reads them itself.
func environment(t *testing.T, values map[string]string) func(string) string {
	t.Helper()
	for name, value := range values {
		t.Setenv(name, value)
	}
	return os.Getenv
}

func report(t *testing.T, values map[string]string, list []engine.Event) []error {
	t.Helper()
	r, err := FromEnvironment(t.Context(), environment(t, values), "v1")
	if err != nil || r == nil {
		t.Fatalf("reporter %v, error %v", r, err)
	}
	for _, e := range list {
		r.Emit(e)
	}
	return r.Finish(t.Context())
}

func TestOffByDefault(t *testing.T) {
	for _, values := range []map[string]string{nil,
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1", "OTEL_TRACES_EXPORTER": "none"}} {
		r, err := FromEnvironment(t.Context(), func(name string) string { return values[name] }, "v1")
		if r != nil || err != nil {
			t.Errorf("%v: reporter %v, error %v", values, r, err)
		}
	}
}

// sample returns the value of a metric that has all labels.
func sample(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range families[name].GetMetric() {
		var has []string
		for _, l := range m.Label {
			has = append(has, l.GetName()+"="+l.GetValue())
		}
		if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			return m.GetGauge().GetValue()
		}
	}
	return -1
}

// TestFile reads the file as Prometheus does.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deployer.prom")
	if errs := report(t, map[string]string{fileVariable: file}, events()); errs != nil {
		t.Fatal(errs)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"deployer_run_success", []string{"playbook=site.yaml"}, 0},
		{"deployer_run_outcome_info", []string{"run=20261123-100000.000", "outcome=partly done", "version=v1"}, 1},
		{"deployer_run_start_timestamp_seconds", nil, float64(began.Unix())},
		{"deployer_run_end_timestamp_seconds", nil, float64(began.Unix() + 5)},
		{"deployer_run_duration_seconds", nil, 5},
		{"deployer_run_hosts", []string{"state=completed"}, 1},
		{"deployer_run_hosts", []string{"state=failed"}, 1},
		{"deployer_run_hosts", []string{"state=unreachable"}, 1},
		{"deployer_run_hosts", []string{"state=cancelled"}, 0},
		{"deployer_run_steps", []string{"status=changed"}, 1},
		{"deployer_run_steps", []string{"status=failed"}, 1},
		{"deployer_run_steps", []string{"status=ok"}, 0},
		{"deployer_run_connection_retries", nil, 1},
		{"deployer_run_sent_bytes", nil, 1000},
	} {
		if got := sample(families, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("files beside the metrics: %v, %v", entries, err)
	}
}

// TestNoFileOfACheck: a dry run and a run without an end leave the metrics of the last run.
func TestNoFileOfACheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deployer.prom")
	list := events()
	list[len(list)-1].Report.Check = true
	for _, e := range [][]engine.Event{list, list[:3]} {
		if errs := report(t, map[string]string{fileVariable: file}, e); errs != nil {
			t.Fatal(errs)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("there is a file of metrics")
		}
	}
}

func TestFileThatCannotBeWritten(t *testing.T) {
	errs := report(t, map[string]string{fileVariable: filepath.Join(t.TempDir(), "none", "a.prom")}, events())
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "writing the metrics of the run") {
		t.Errorf("errors %v", errs)
	}
}

// TestPush sends the metrics to a server with the paths of a Pushgateway.
func TestPush(t *testing.T) {
	var method, path, body string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		method, path, body = r.Method, r.URL.Path, string(text)
	}))
	defer s.Close()
	if errs := report(t, map[string]string{pushVariable: s.URL}, events()); errs != nil {
		t.Fatal(errs)
	}
	if method != http.MethodPut || path != "/metrics/job/deployer/playbook/site.yaml" || !strings.Contains(body, "deployer_run_success") {
		t.Errorf("%s %s with %q", method, path, body)
	}
}

// TestPushErrorHasNoPassword: an error does not contain the password of the URL.
func TestPushErrorHasNoPassword(t *testing.T) {
	errs := report(t, map[string]string{pushVariable: "http://me:hunter22@127.0.0.1:1"}, events())
	if len(errs) != 1 || strings.Contains(errors.Join(errs...).Error(), "hunter22") {
		t.Errorf("errors %v", errs)
	}
}

// receiver is an OTLP receiver over HTTP.
type receiver struct {
	mu    sync.Mutex
	spans map[string]*tracepb.Span // by name
	attrs map[string]string        // of the resource
}

// ServeHTTP implements http.Handler.
func (c *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	var got collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &got)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range got.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			c.attrs[a.Key] = a.Value.GetStringValue()
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				name := s.Name
				for _, a := range s.Attributes {
					if a.Key == "deployer.step" {
						name += " on " + hostOf(s)
					}
				}
				c.spans[name] = s
			}
		}
	}
}

func hostOf(s *tracepb.Span) string {
	for _, a := range s.Attributes {
		if a.Key == "deployer.host" {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// TestTraces sends the spans of a run to a receiver.
func TestTraces(t *testing.T) {
	c := &receiver{spans: map[string]*tracepb.Span{}, attrs: map[string]string{}}
	s := httptest.NewServer(c)
	defer s.Close()
	errs := report(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL, "OTEL_RESOURCE_ATTRIBUTES": "team=platform",
		"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, events())
	if errs != nil {
		t.Fatal(errs)
	}
	if c.attrs["service.name"] != "deployer" || c.attrs["service.version"] != "v1" || c.attrs["team"] != "platform" {
		t.Errorf("resource %v", c.attrs)
	}
	run, a, step, failed := c.spans["run site.yaml"], c.spans["host a"], c.spans["configuration on a"], c.spans["configuration on b"]
	if run == nil || a == nil || step == nil || failed == nil || c.spans["host b"] == nil || c.spans["host c"] == nil || len(c.spans) != 6 {
		t.Fatalf("spans %v", c.spans)
	}
	if string(a.ParentSpanId) != string(run.SpanId) || string(step.ParentSpanId) != string(a.SpanId) || len(run.ParentSpanId) == 0 {
		t.Error("the spans are not below each other")
	}
	if got := time.Duration(step.EndTimeUnixNano - step.StartTimeUnixNano); got != time.Second {
		t.Errorf("the step took %s", got)
	}
	if got := time.Duration(run.EndTimeUnixNano - run.StartTimeUnixNano); got != 5*time.Second {
		t.Errorf("the run took %s", got)
	}
	if failed.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || failed.Status.Message != "no such file" || run.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("statuses %v, %v", failed.Status, run.Status)
	}
	if len(c.spans["host c"].Events) != 1 {
		t.Error("the retry is no event of its host")
	}
}

// TestSpans puts the spans of a program that starts others below that of its caller, and
// gives those others their parent.
func TestSpans(t *testing.T) {
	c := &receiver{spans: map[string]*tracepb.Span{}, attrs: map[string]string{}}
	server := httptest.NewServer(c)
	defer server.Close()
	getenv := environment(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	s, err := SpansFromEnvironment(t.Context(), getenv, "v1")
	if err != nil {
		t.Fatal(err)
	}
	run := s.Start(nil, "ci 1")
	stage := s.Start(run, "stage deploy", "stage", "deploy")
	given := stage.Environment()
	stage.End("failed", "no such host")
	run.End("deployed", "")
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	parent, child := c.spans["ci 1"], c.spans["stage deploy"]
	if parent == nil || child == nil || hex.EncodeToString(parent.ParentSpanId) != "b7ad6b7169203331" || string(child.ParentSpanId) != string(parent.SpanId) {
		t.Fatalf("spans %v", c.spans)
	}
	if want := "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-" + hex.EncodeToString(child.SpanId) + "-01"; len(given) != 1 || given[0] != want {
		t.Errorf("environment %q, want %s", given, want)
	}
	if child.Status.GetMessage() != "no such host" || parent.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("statuses %v, %v", child.Status, parent.Status)
	}
	var off *Spans
	if off.Start(nil, "x").Environment() != nil || off.Finish(t.Context()) != nil {
		t.Error("switched off, it does something")
	}
}

// TestCollectorIsDown: the outcome of the run does not depend on the collector.
func TestCollectorIsDown(t *testing.T) {
	errs := report(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "500"}, events())
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "sending the traces") {
		t.Errorf("errors %v", errs)
	}
}

func TestGRPCIsRefused(t *testing.T) {
	values := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
	if _, err := FromEnvironment(t.Context(), environment(t, values), "v1"); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("error %v", err)
	}
}
