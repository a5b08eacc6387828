package maintenance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"deployer/keeper/maintenance/profile"
)

func TestPrometheus(t *testing.T) {
	answer, status, asked := "", http.StatusOK, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/prom/api/v1/query" || r.URL.Query().Get("query") != `sum(ALERTS{severity="critical"})` {
			t.Errorf("got %s", r.URL)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	k := newCluster(t, fmt.Sprintf(`
intervals: {requeue: 60s}
instances:
  check:
  - {type: prometheusInstant, name: calm, config: {url: "%s/prom/", query: 'sum(ALERTS{severity="critical"})', expr: value < 1}}
profiles:
- name: p
  operational: {transitions: [{check: calm, next: maintenance-required}]}
`, server.URL), nil)
	k.addNode("n1", profile.ProfileLabel, "p")
	k.addNode("n2", profile.ProfileLabel, "p")
	for _, c := range []struct {
		answer string
		status int
		want   string // error
	}{
		{`{"status":"success","data":{"resultType":"vector","result":[]}}`, 200, "the result has 0 values, want exactly 1"},
		{`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"0"]},{"value":[1,"0"]}]}}`, 200, "the result has 2 values, want exactly 1"},
		{`{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}`, 200, "the result is a scalar, not a vector"},
		{`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"many"]}]}}`, 200, "invalid syntax"},
		{`{"status":"error","errorType":"bad_data","error":"parse error"}`, 400, "the server answered 400 Bad Request: parse error"},
		{`<html>`, 502, "the server answered 502 Bad Gateway, without JSON"},
		{`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1"]}]}}`, 200, ""},
		{`{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"NaN"]}]}}`, 200, ""},
	} {
		answer, status, asked = c.answer, c.status, 0
		err := k.pass()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), "check calm: querying Prometheus: ") || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v", c.answer, err)
		}
		if k.state("n1", "p") == profile.Required {
			t.Errorf("%s: the check passed", c.answer)
		}
		if asked != 1 {
			t.Errorf("%d queries for two nodes in a pass", asked)
		}
	}
	answer = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1764331200.1,"0.5"]}]}}`
	k.passes(1)
	if k.state("n1", "p") != profile.Required || k.state("n2", "p") != profile.Required {
		t.Errorf("n1 is %s", k.state("n1", "p"))
	}
}

func TestAffinityReadsThePodsOfNodes(t *testing.T) {
	k := newCluster(t, `
intervals: {requeue: 60s}
instances:
  check:
  - {type: hasLabel, name: go, config: {key: go}}
  - {type: affinity, name: first}
profiles:
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: first, next: in-maintenance}]}
`, nil)
	k.addNode("n1", going("p")...)
	k.addNode("n2", going("p")...)
	k.addPod("critical", "n1", nil)
	pod := k.api.Object("/api/v1/namespaces/default/pods/critical")
	pod["spec"].(map[string]any)["affinity"] = map[string]any{"nodeAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
		"weight": 1, "preference": map[string]any{"matchExpressions": []any{map[string]any{"key": profile.StateLabel, "operator": "In", "values": []any{"operational"}}}}}}}}
	k.api.Put("/api/v1/namespaces/default/pods/critical", pod)
	k.passes(2)
	if k.state("n1", "p") != profile.Required || k.state("n2", "p") != profile.InMaintenance {
		t.Errorf("n1 %s, n2 %s", k.state("n1", "p"), k.state("n2", "p"))
	}
	k.passes(1)
	if k.state("n1", "p") != profile.InMaintenance {
		t.Errorf("n1 %s after n2", k.state("n1", "p"))
	}
}
