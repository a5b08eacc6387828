package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"deployer/ci/gate"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	File      string       `xml:"file,attr,omitempty"`
	Line      int          `xml:"line,attr,omitempty"`
	Time      string       `xml:"time,attr"`
	Failure   *junitResult `xml:"failure"`
	Skipped   *junitResult `xml:"skipped"`
}

type junitResult struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit returns the run as JUnit XML: the stages as one suite, and the gates of each
// cluster as another one, with a case for each rule that was broken.
func JUnit(r *Run) (string, error) {
	stages := junitSuite{Name: "stages", Timestamp: r.Started.UTC().Format(time.RFC3339), Time: fmt.Sprintf("%.3f", r.Seconds)}
	for _, s := range r.Stages {
		c := junitCase{Name: s.Name, ClassName: "deployer.ci.stages", Time: fmt.Sprintf("%.3f", s.Seconds)}
		switch s.Outcome {
		case Skipped:
			c.Skipped = &junitResult{Message: s.Message}
		case Passed, Nothing, Deployed:
		default:
			c.Failure = &junitResult{Message: string(s.Outcome) + ": " + firstLine(s.Message), Text: s.Message}
		}
		stages.add(c)
	}
	all := junitSuites{Suites: []junitSuite{stages}}
	for _, cluster := range r.Clusters {
		suite := junitSuite{Name: "gates of " + cluster.Name, Timestamp: stages.Timestamp, Time: "0"}
		for _, f := range cluster.Findings {
			c := junitCase{Name: f.Rule, ClassName: "deployer.ci." + cluster.Inventory, File: f.Pos.File, Line: f.Pos.Line, Time: "0"}
			if f.Level == gate.Block {
				c.Failure = &junitResult{Message: firstLine(f.String()), Text: f.String()}
			}
			suite.add(c)
		}
		if len(cluster.Findings) == 0 {
			suite.add(junitCase{Name: "all rules", ClassName: "deployer.ci." + cluster.Inventory, Time: "0"})
		}
		all.Suites = append(all.Suites, suite)
	}
	out, err := xml.MarshalIndent(all, "", " ")
	if err != nil {
		return "", err
	}
	return xml.Header + string(out) + "\n", nil
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
