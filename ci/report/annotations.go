package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"deployer/ci/gate"
)

// GitHub returns the findings as workflow commands, which GitHub shows at the lines of a
// pull request; Gitea shows them in the log of the job.
func GitHub(r *Run) string {
	var b strings.Builder
	value := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range r.Findings() {
		kind := "warning"
		if f.Level == gate.Block {
			kind = "error"
		}
		properties := []string{"title=" + property.Replace("deployer "+f.Rule)}
		if f.Pos.File != "" {
			properties = append(properties, "file="+property.Replace(f.Pos.File))
		}
		if f.Pos.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.Pos.Line))
		}
		if f.Pos.Col > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", f.Pos.Col))
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", kind, strings.Join(properties, ","), value.Replace(f.Message+prefixed("; ", f.Advice)))
	}
	return b.String()
}

// codeQuality is one entry of GitLab's report of code quality.
type codeQuality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// GitLab returns the findings as a report of code quality, which GitLab shows at the lines
// of a merge request.
func GitLab(r *Run) (string, error) {
	out := []codeQuality{}
	for _, f := range r.Findings() {
		e := codeQuality{Description: f.Message + prefixed("; ", f.Advice), CheckName: "deployer " + f.Rule, Severity: "minor"}
		if f.Level == gate.Block {
			e.Severity = "blocker"
		}
		sum := sha256.Sum256([]byte(f.String()))
		e.Fingerprint = hex.EncodeToString(sum[:])
		e.Location.Path, e.Location.Lines.Begin = f.Pos.File, max(f.Pos.Line, 1)
		if e.Location.Path == "" {
			e.Location.Path = "deployer.ci.yaml"
		}
		out = append(out, e)
	}
	data, err := json.MarshalIndent(out, "", " ")
	return string(data) + "\n", err
}

// Metrics returns the metrics of a run in the text format of Prometheus.
func Metrics(r *Run) string {
	var b strings.Builder
	gauge := func(name, help string, lines ...string) {
		fmt.Fprintf(&b, "# HELP %[1]s %[2]s\n# TYPE %[1]s gauge\n%[3]s\n", name, help, strings.Join(lines, "\n"))
	}
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	gauge("deployer_ci_last_run_timestamp_seconds", "Time at which the last run began.", fmt.Sprintf("deployer_ci_last_run_timestamp_seconds %d", r.Started.Unix()))
	gauge("deployer_ci_last_run_duration_seconds", "Duration of the last run.", fmt.Sprintf("deployer_ci_last_run_duration_seconds %.3f", r.Seconds))
	gauge("deployer_ci_last_run_info", "Outcome of the last run.", fmt.Sprintf(`deployer_ci_last_run_info{outcome="%s",revision="%s"} 1`, label.Replace(string(r.Outcome)), label.Replace(r.Revision)))
	if len(r.Clusters) == 0 {
		return b.String()
	}
	var ok []string
	for _, c := range r.Clusters {
		value := 1
		switch c.Outcome {
		case Failed, Refused, RolledBack, Interrupted:
			value = 0
		}
		ok = append(ok, fmt.Sprintf(`deployer_ci_cluster_ok{cluster="%s",environment="%s",inventory="%s"} %d`, label.Replace(c.Name), label.Replace(c.Environment), label.Replace(c.Inventory), value))
	}
	gauge("deployer_ci_cluster_ok", "1 when the last run left the cluster as its revision says.", ok...)
	return b.String()
}
