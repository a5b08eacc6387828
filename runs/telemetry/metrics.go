package telemetry

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"

	"deployer/engine"
)

// metrics counts the events of a run.
type metrics struct {
	version string

	mu       sync.Mutex
	playbook string
	run      string
	started  time.Time
	ended    time.Time
	report   *engine.Report // nil until the end of the run
	steps    map[engine.Status]int
	retries  int
	sent     int64
}

func newMetrics(version string) *metrics {
	return &metrics{version: version, steps: map[engine.Status]int{}}
}

func (m *metrics) add(e engine.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Type {
	case engine.EventRunStart:
		m.playbook, m.run, m.started = e.Name, e.Text, e.Time
	case engine.EventRunEnd:
		m.report, m.ended = e.Report, e.Time
	case engine.EventStepEnd:
		if e.Result != nil {
			m.steps[e.Result.Status]++
		}
	case engine.EventHostRetry:
		m.retries++
	case engine.EventTransfer:
		m.sent += e.Bytes
	}
}

// complete reports whether a run has ended that is no dry run.
func (m *metrics) complete() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.report != nil && !m.report.Check
}

// statuses are those that always have a sample, so that a rule for alerts finds a zero.
var statuses = []engine.Status{engine.StatusOK, engine.StatusChanged, engine.StatusSkipped, engine.StatusFailed, engine.StatusUnreachable, engine.StatusCancelled}

// registry returns the metrics of the run.
func (m *metrics) registry() *prometheus.Registry {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := prometheus.NewRegistry()
	gauge := func(name, help string, labels prometheus.Labels, value float64) {
		all := prometheus.Labels{"playbook": m.playbook}
		for k, v := range labels {
			all[k] = v
		}
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "deployer", Subsystem: "run", Name: name, Help: help, ConstLabels: all})
		g.Set(value)
		out.MustRegister(g) // names and labels above are valid and unique
	}
	success := 0.0
	if outcome := m.report.Outcome(); outcome == engine.OutcomeDone {
		success = 1
	}
	gauge("success", "1 when all hosts completed the last run, else 0.", nil, success)
	gauge("outcome_info", "The outcome of the last run, its id and the version of deployer.", prometheus.Labels{"run": m.run, "outcome": string(m.report.Outcome()), "version": m.version}, 1)
	gauge("start_timestamp_seconds", "Begin of the last run.", nil, timestamp(m.started))
	gauge("end_timestamp_seconds", "End of the last run.", nil, timestamp(m.ended))
	gauge("duration_seconds", "Duration of the last run.", nil, m.report.Elapsed.Seconds())
	for state, n := range m.hosts() {
		gauge("hosts", "Number of hosts of the last run by state.", prometheus.Labels{"state": state}, float64(n))
	}
	for _, status := range statuses {
		gauge("steps", "Number of steps of the last run by status, on all hosts.", prometheus.Labels{"status": string(status)}, float64(m.steps[status]))
	}
	gauge("connection_retries", "Number of connections of the last run that failed and were tried again.", nil, float64(m.retries))
	gauge("sent_bytes", "Bytes of files that the last run has sent to hosts, compressed.", nil, float64(m.sent))
	return out
}

// hosts counts the hosts of the report. The caller holds the lock.
func (m *metrics) hosts() map[string]int {
	out := map[string]int{"completed": 0, "failed": 0, "unreachable": 0, "cancelled": 0}
	for _, h := range m.report.Hosts {
		switch {
		case h.Unreachable:
			out["unreachable"]++
		case h.Failure != nil:
			out["failed"]++
		case h.Cancelled:
			out["cancelled"]++
		default:
			out["completed"]++
		}
	}
	return out
}

func timestamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// writeFile writes the metrics to a file. writeFile replaces the file as a whole, as node_exporter
// may read it at any time, and everybody may read it.
func (m *metrics) writeFile(path string) error { return prometheus.WriteToTextfile(path, m.registry()) }

// pushTo replaces the metrics of the job deployer and the run's playbook on a Pushgateway.
func (m *metrics) pushTo(ctx context.Context, to string) error {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return errors.New(pushVariable + " is not a URL such as http://pushgateway:9091")
	}
	p := push.New(to, "deployer").Gatherer(m.withoutPlaybook()).Grouping("playbook", m.playbook)
	return withoutUser(p.PushContext(ctx), u)
}

// withoutPlaybook returns the metrics without the label that the group has.
func (m *metrics) withoutPlaybook() prometheus.Gatherer { return unlabelled{m.registry()} }

// withoutUser returns an error without the password of a URL.
func withoutUser(err error, u *url.URL) error {
	var of *url.Error
	if errors.As(err, &of) && u.User != nil {
		return of.Err
	}
	return err
}
