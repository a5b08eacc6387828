package report

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// Metrics are the metrics of one keeper.
type Metrics struct {
	registry  *prometheus.Registry
	actions   *prometheus.CounterVec
	passes    *prometheus.CounterVec
	duration  prometheus.Gauge
	condition *prometheus.GaugeVec
	problems  *prometheus.GaugeVec
	leader    prometheus.Gauge
	last      prometheus.Gauge
	expiry    *prometheus.GaugeVec
	snapshot  *prometheus.GaugeVec
	requests  *prometheus.CounterVec
}

// NewMetrics returns metrics without values.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		actions:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "deployer_keeper_actions_total", Help: "Actions by kind and result: done, dry-run, in-progress, failed."}, []string{"action", "result"}),
		passes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "deployer_keeper_passes_total", Help: "Passes by result: ok, failed."}, []string{"result"}),
		duration:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "deployer_keeper_pass_seconds", Help: "Duration of the last pass."}),
		condition: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "deployer_keeper_condition", Help: "1 when the condition is True."}, []string{"type"}),
		problems:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "deployer_keeper_problems", Help: "Problems of the last pass by reason."}, []string{"reason"}),
		leader:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "deployer_keeper_leader", Help: "1 for the keeper that works for the whole cluster."}),
		last:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "deployer_keeper_last_pass_timestamp_seconds", Help: "Time of the end of the last pass."}),
	}
	m.expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "deployer_keeper_certificate_expiry_timestamp_seconds", Help: "Time at which a certificate of the host expires."}, []string{"path"})
	m.snapshot = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "deployer_keeper_snapshot_timestamp_seconds", Help: "Time of the newest scheduled snapshot on the host."}, []string{"etcd"})
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "deployer_keeper_api_requests_total", Help: "Requests to the API server by method and status; status 0: no answer."}, []string{"method", "code"})
	m.registry.MustRegister(m.requests, m.actions, m.passes, m.duration, m.condition, m.problems, m.leader, m.last, m.expiry, m.snapshot)
	return m
}

// Handler serves /metrics, and /healthz: 200 while the last pass ended less than three intervals ago.
func (m *Metrics) Handler(fresh func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := fresh(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Transport returns what sends requests through next and counts them.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return countingTransport{next, m.requests}
}

type countingTransport struct {
	next     http.RoundTripper
	requests *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (t countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	code := 0
	if err == nil {
		code = resp.StatusCode
	}
	t.requests.WithLabelValues(req.Method, strconv.Itoa(code)).Inc()
	return resp, err
}

// CloseIdleConnections closes the idle connections of the wrapped transport, for http.Client.CloseIdleConnections.
func (t countingTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Action counts an action.
func (m *Metrics) Action(e actionlog.Entry) {
	result := "failed"
	switch e.Result {
	case actionlog.ResultDone:
		result = "done"
	case actionlog.ResultDryRun:
		result = "dry-run"
	case actionlog.ResultInProgress:
		result = "in-progress"
	}
	m.actions.WithLabelValues(e.Action, result).Inc()
}

// Pass sets the values of a pass.
func (m *Metrics) Pass(s status.Status, took time.Duration, failed bool) {
	result := "ok"
	if failed {
		result = "failed"
	}
	m.passes.WithLabelValues(result).Inc()
	m.duration.Set(took.Seconds())
	m.last.Set(float64(s.Time.Add(took).Unix()))
	m.leader.Set(toNumber(s.Leader))
	for _, c := range s.Conditions {
		m.condition.WithLabelValues(c.Type).Set(toNumber(c.Status == world.True))
	}
	m.problems.Reset()
	for reason, n := range countReasons(s.Problems) {
		m.problems.WithLabelValues(reason).Set(float64(n))
	}
}

// Host sets the values of the keeper's host.
func (m *Metrics) Host(host world.Own, snapshots map[string]time.Time) {
	m.expiry.Reset()
	for _, c := range host.Certificates {
		if !c.Expires.IsZero() {
			m.expiry.WithLabelValues(c.Path).Set(float64(c.Expires.Unix()))
		}
	}
	m.snapshot.Reset()
	for etcd, at := range snapshots {
		m.snapshot.WithLabelValues(etcd).Set(float64(at.Unix()))
	}
}

func countReasons(problems []decide.Problem) map[string]int {
	out := map[string]int{}
	for _, p := range problems {
		out[p.Reason]++
	}
	return out
}

func toNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
