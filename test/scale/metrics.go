package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"deployer/test/bench/kube"
)

// sumMetric returns the sum of all values of a metric in Prometheus' text format whose labels contain
// all of some texts, such as `request_kind="readOnly"`.
func sumMetric(r io.Reader, name string, labels ...string) (sum float64, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' || !containsAll(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, lines.Err()
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// metric returns the sum of a metric of an API server.
func metric(ctx context.Context, a *kube.API, name string, labels ...string) (float64, error) {
	resp, err := a.Send(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return sumMetric(resp.Body, name, labels...)
}
