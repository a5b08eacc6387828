package report_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"deployer/ci/change"
	"deployer/ci/gate"
	"deployer/ci/report"
	"deployer/strictyaml"
)

func example() *report.Run {
	shared := gate.Finding{Rule: "validation", Level: gate.Block, Message: "bad | <b>value</b>, 100%\nsecond line", Advice: "mend it", Pos: strictyaml.Pos{File: "a,b.yaml", Line: 3, Col: 7}}
	advice := gate.Finding{Rule: "blast_radius", Level: gate.Advise, Message: "many hosts"}
	return &report.Run{Format: 1, Started: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Seconds: 61.5, Revision: "0123456789abcdef", Subject: "more | minions", Plan: "sha256:2", Outcome: report.Refused,
		Clusters: []*report.Cluster{
			{Environment: "production", Inventory: "a.yaml", Name: "a", Touched: 2, Hosts: 9, Steps: []change.Step{{Args: []string{"scale-up", "n1", "n2"}}},
				Change:   change.Change{Joining: []change.HostRoles{{Host: "n1", Roles: []string{"minion"}}, {Host: "n2", Roles: []string{"minion"}}}},
				Findings: []gate.Finding{shared, advice}, Plan: "sha256:1", PlanText: "```\n</details><script>alert(1)</script>", Outcome: report.Skipped},
			{Environment: "production", Inventory: "b.yaml", Name: "b", Findings: []gate.Finding{shared}, Outcome: report.Nothing},
		},
		Stages: []*report.Stage{{Name: "validate", Outcome: report.Refused, Seconds: 1.25, Message: "no\nmore"}, {Name: "deploy", Outcome: report.Skipped, Message: "validate did not pass"}},
	}
}

func TestMarkdown(t *testing.T) {
	page := report.Markdown(example())
	for _, want := range []string{
		"## deployer: refused", "Plan of the push `sha256:2`\n", `more \| minions`, "| production | a (`a.yaml`) | new hosts | 2 of 9 | 1 block | skipped |",
		"- join: n[1:2] (minion)", "    - `deployer scale-up n1 n2`", "````\n```\n", `bad \| &lt;b&gt;value&lt;/b&gt;, 100% second line`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if n := strings.Count(page, "bad "); n != 1 {
		t.Errorf("the problem of the shared file is reported %d times", n)
	}
}

// TestMarkdownIsBounded: comments of GitHub have at most 65536 characters, whatever a run has.
func TestMarkdownIsBounded(t *testing.T) {
	const limit = 65536
	r := &report.Run{Outcome: report.Passed}
	for i := range 30 {
		name := fmt.Sprintf("cluster-%d", i)
		r.Clusters = append(r.Clusters, &report.Cluster{Name: name, Inventory: name + ".yaml", Plan: "sha256:1", PlanText: strings.Repeat("a change of a plan\n", 400)})
	}
	page := report.Markdown(r)
	if len(page) > limit {
		t.Errorf("%d bytes", len(page))
	}
	for i := range 30 {
		if !strings.Contains(page, fmt.Sprintf("<summary>Plan of cluster-%d,", i)) {
			t.Errorf("the plan of cluster-%d has no place", i)
		}
	}
	if !strings.Contains(page, "summary.html") {
		t.Error("the page does not say where the rest is")
	}

	for i := range 2000 {
		name := fmt.Sprintf("other-%d", i)
		r.Clusters = append(r.Clusters, &report.Cluster{Name: name, Inventory: name + ".yaml", Change: change.Change{Joining: []change.HostRoles{{Host: name}}},
			Findings: []gate.Finding{{Rule: "validation", Level: gate.Block, Message: "finding of " + name}}})
		r.Stages = append(r.Stages, &report.Stage{Name: "stage-" + name, Outcome: report.Failed, Message: strings.Repeat("m", 2000)})
	}
	page = report.Markdown(r)
	if len(page) > limit {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{"| cluster-0 ", "finding of other-0\n", "| stage-other-0 ", "left out", "summary.html"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHTMLEscapes(t *testing.T) {
	page, err := report.HTML(example())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page, "<script>") || strings.Contains(page, "<b>") {
		t.Error("markup of a plan or a finding is in the page")
	}
	for _, want := range []string{"<code>a.yaml</code>", "2 of 9", "join: n[1:2] (minion)", "&lt;b&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestJUnit(t *testing.T) {
	text, err := report.JUnit(example())
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &suites); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(suites.Suites); got != "[{2 1 1} {2 1 0} {1 1 0}]" {
		t.Errorf("tests, failures, skipped: %s", got)
	}
}

func TestAnnotations(t *testing.T) {
	want := "::error title=deployer validation,file=a%2Cb.yaml,line=3,col=7::bad | <b>value</b>, 100%25%0Asecond line; mend it\n::warning title=deployer blast_radius::many hosts\n"
	if got := report.GitHub(example()); got != want {
		t.Errorf("got %q", got)
	}
	text, err := report.GitLab(example())
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Fingerprint string
		Severity    string
		Location    struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Severity != "blocker" || entries[0].Location.Lines.Begin != 3 || entries[0].Fingerprint == entries[1].Fingerprint {
		t.Errorf("got %+v", entries)
	}
}

func TestMetrics(t *testing.T) {
	text := report.Metrics(example())
	for _, want := range []string{`deployer_ci_last_run_info{outcome="refused",revision="0123456789abcdef"} 1`, `deployer_ci_cluster_ok{cluster="b",environment="production",inventory="b.yaml"} 1`, "deployer_ci_last_run_duration_seconds 61.500\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
}
