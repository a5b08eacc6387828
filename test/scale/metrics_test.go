package main

import (
	"strings"
	"testing"
)

func TestSumMetric(t *testing.T) {
	const text = `# HELP apiserver_current_inflight_requests of each kind
apiserver_current_inflight_requests{request_kind="mutating"} 7
apiserver_current_inflight_requests{request_kind="readOnly"} 30
apiserver_current_inflight_requests_total{request_kind="readOnly"} 1000
up 1
`
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"apiserver_current_inflight_requests", nil, 37},
		{"apiserver_current_inflight_requests", []string{`request_kind="readOnly"`}, 30},
		{"up", nil, 1},
		{"down", nil, 0},
	} {
		if got, err := sumMetric(strings.NewReader(text), c.name, c.labels...); err != nil || got != c.want {
			t.Errorf("%s %v: got %v, %v; want %v", c.name, c.labels, got, err, c.want)
		}
	}
	if _, err := sumMetric(strings.NewReader("up one\n"), "up"); err == nil {
		t.Error("a value that is no number is not an error")
	}
}
