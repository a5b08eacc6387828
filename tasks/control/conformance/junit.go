package conformance

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"deployer/engine/sanitize"
)

// Test is a test that ran.
type Test struct {
	Name    string
	Elapsed time.Duration
	// Failure is the cause in at most causeLines lines; empty for a test that passed.
	Failure string
}

// Report is what the JUnit report of the tests says.
type Report struct {
	Tests   []Test // that ran, in the order of the report
	Skipped int    // tests that were not selected
	// Suite are failures that belong to no test, such as one of the preparation of all tests.
	Suite []Test
}

// Bounds of a report, which the tests have written.
const (
	maxReport   = 64 << 20 // bytes
	maxCause    = 600      // bytes
	causeLines  = 3
	maxSeconds  = 7 * 24 * 60 * 60
	testPrefix  = "[It] "
	xmlMaxDepth = 64
)

// errReport is the error of a report that is no JUnit report.
var errReport = errors.New("the JUnit report cannot be read")

// junitCase is a test case of a report.
type junitCase struct {
	Name     string         `xml:"name,attr"`
	Status   string         `xml:"status,attr"`
	Time     string         `xml:"time,attr"`
	Skipped  *struct{}      `xml:"skipped"`
	Failures []junitFailure `xml:"failure"`
	Errors   []junitFailure `xml:"error"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// parseReport reads a JUnit report. A test that neither passed nor was skipped has failed.
func parseReport(r io.Reader) (*Report, error) {
	limited := &io.LimitedReader{R: r, N: maxReport + 1}
	decoder := xml.NewDecoder(limited)
	out, depth, cases, suites := &Report{}, 0, 0, false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && depth == 0 && suites && limited.N > 0 {
			return out, nil
		}
		if err != nil {
			if limited.N <= 0 {
				err = fmt.Errorf("it has more than %d MiB", maxReport>>20)
			}
			return nil, fmt.Errorf("%w: %w", errReport, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "testsuites", "testsuite":
				suites = true
			case "testcase":
				if cases++; cases > maxTests {
					return nil, fmt.Errorf("%w: it has more than %d tests", errReport, maxTests)
				}
				var c junitCase
				if err := decoder.DecodeElement(&c, &t); err != nil {
					return nil, fmt.Errorf("%w: %w", errReport, err)
				}
				out.add(c)
				continue
			}
			if depth++; depth > xmlMaxDepth {
				return nil, fmt.Errorf("%w: it is nested too deeply", errReport)
			}
		case xml.EndElement:
			depth--
		}
	}
}

func (r *Report) add(c junitCase) {
	name, isTest := strings.CutPrefix(c.Name, testPrefix)
	test := Test{Name: cleanName(name), Elapsed: elapsed(c.Time)}
	failures := append(c.Failures, c.Errors...)
	failed := len(failures) > 0 || c.Skipped == nil && c.Status != "passed" && c.Status != ""
	if failed {
		test.Failure = cause(failures, c.Status)
	}
	switch {
	case isTest && c.Skipped != nil && !failed:
		r.Skipped++
	case isTest:
		r.Tests = append(r.Tests, test)
	case failed:
		r.Suite = append(r.Suite, test)
	}
}

// Failed returns the tests that failed.
func (r *Report) Failed() (failed []Test) {
	for _, t := range r.Tests {
		if t.Failure != "" {
			failed = append(failed, t)
		}
	}
	return failed
}

// cause returns the first lines of a failure, without those that every failure has.
func cause(failures []junitFailure, status string) string {
	var lines []string
	for _, f := range failures {
		for line := range strings.Lines(f.Message + "\n" + f.Text) {
			line = strings.TrimSpace(sanitize.Line(line))
			line = strings.TrimSpace(strings.TrimPrefix(line, "[FAILED]"))
			if line == "" || strings.HasPrefix(line, "{") && strings.HasSuffix(line, "}") && len(line) < 3 {
				continue
			}
			if len(lines) < causeLines {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		lines = []string{"it ended as " + strconv.Quote(sanitize.FirstLine(sanitize.Line(status), maxName))}
	}
	return sanitize.FirstLine(strings.Join(lines, "; "), maxCause)
}

// elapsed parses seconds, such as 12.5; 0 for anything else.
func elapsed(text string) time.Duration {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxSeconds) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}
