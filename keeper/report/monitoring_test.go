package report

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/keeper/actionlog"
	"deployer/keeper/decide"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// served returns the names of all metrics.
func served(t *testing.T) map[string]bool {
	t.Helper()
	m := NewMetrics()
	m.Action(actionlog.Entry{Action: "Scale", Result: actionlog.ResultDone})
	m.Pass(status.Status{
		Conditions: []decide.Condition{{Type: "Degraded", Status: world.True}}, Problems: []decide.Problem{{Reason: decide.NodeUnknown}},
	}, time.Second, false)
	m.Host(world.Own{Certificates: []world.Certificate{{Path: "/a.crt", Expires: time.Now()}}}, map[string]time.Time{"etcd": time.Now()})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, f := range families {
		out[f.GetName()] = true
	}
	return out
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMonitoringKnowsTheMetrics: alert rules and dashboard use metrics that there are, and all of them.
func TestMonitoringKnowsTheMetrics(t *testing.T) {
	metrics, used := served(t), map[string]bool{}
	for _, path := range []string{"examples/monitoring/alerts.yaml", "examples/monitoring/dashboard.json"} {
		for _, name := range regexp.MustCompile(`deployer_keeper_\w+`).FindAllString(read(t, path), -1) {
			used[name] = true
			if !metrics[name] {
				t.Errorf("%s uses %s, which the keeper does not have", path, name)
			}
		}
	}
	for name := range metrics {
		if !used[name] {
			t.Errorf("neither alert rules nor dashboard use %s", name)
		}
	}
	if err := json.Unmarshal([]byte(read(t, "examples/monitoring/dashboard.json")), &map[string]any{}); err != nil {
		t.Error(err)
	}
}

// TestAlertsHaveRunbooks: every alert names a section of the guide, and every problem that can raise one
// has a section.
func TestAlertsHaveRunbooks(t *testing.T) {
	const guide = "docs/guides/keeper-alerts.md"
	sections := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(read(t, guide), -1) {
		sections[strings.ToLower(strings.ReplaceAll(heading[1], " ", "-"))] = true
	}
	for _, reason := range decide.Reasons() {
		if !sections[strings.ToLower(reason)] {
			t.Errorf("%s has no section %s", guide, reason)
		}
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "examples/monitoring/alerts.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	rules := file.Groups[0].Rules
	if len(rules) < 5 {
		t.Fatalf("%d alert rules", len(rules))
	}
	for _, r := range rules {
		path, section, _ := strings.Cut(r.Annotations["runbook"], "#")
		byReason := section == "{{ $labels.reason | toLower }}"
		if path != guide || !byReason && !sections[section] {
			t.Errorf("alert %s: runbook %q", r.Alert, r.Annotations["runbook"])
		}
		if byReason {
			for _, reason := range regexp.MustCompile(`"([A-Za-z|]+)"`).FindAllStringSubmatch(r.Expr, -1) {
				for name := range strings.SplitSeq(reason[1], "|") {
					if !sections[strings.ToLower(name)] {
						t.Errorf("alert %s is about %s, which is no problem of the keeper", r.Alert, name)
					}
				}
			}
		}
	}
}
